"""Facts are believed whole, or not at all."""

from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.node_health.facts import read_facts

TEXT = """\
node n2
capabilities 000001ffffffffff
cpus 0-2,5
memlock unlimited
kernel 6.1.0-56-amd64
machine virtual
governor 0 performance
transparent_hugepages always [madvise] never
hugepages 2048 16
numa 0 0,1 10
interface lo 65536
port rxe0:1 virtual v0 4: ACTIVE
version ucx # Version 1.13.1
version osu -
clock 1795252692135181094
end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "facts.n2"
    file.write_text(TEXT)
    return file


def test_whole_facts(path: Path) -> None:
    facts = read_facts(path)
    assert (facts.node, facts.virtual, facts.memlock, facts.locks_freely) == (
        "n2",
        True,
        None,
        True,
    )
    assert facts.cpus == {0, 1, 2, 5}
    assert facts.versions == {"ucx": "Version 1.13.1", "osu": ""}


@pytest.mark.parametrize("number", range(1, len(TEXT.splitlines())))
def test_facts_that_are_cut_anywhere_name_their_node(path: Path, number: int) -> None:
    path.write_text("".join(TEXT.splitlines(keepends=True)[:number]))
    with pytest.raises(FabricheckError, match=r"^facts.n2: expected 'end' as its last line"):
        read_facts(path)


def test_no_facts_at_all_name_their_node(path: Path) -> None:
    path.write_text("")
    with pytest.raises(FabricheckError, match=r"^facts.n2: .* found 'an empty file'"):
        read_facts(path)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("capabilities 000001ffffffffff", "capabilities x", "line 2"),
        ("cpus 0-2,5", "cpus zero", "line 3"),
        ("memlock unlimited", "memlock much", "line 4"),
        ("machine virtual", "machine quantum", "line 6"),
        ("governor 0 performance", "governor 0", "line 7"),
        ("always [madvise] never", "always madvise never", "line 8"),
        ("hugepages 2048 16", "hugepages 2048", "line 9"),
        ("numa 0 0,1 10", "numa 0 0,1 near", "line 10"),
        ("interface lo 65536", "interface lo", "line 11"),
        ("port rxe0:1 virtual v0", "port rxe0:1 here v0", "line 12"),
        ("clock 1795252692135181094", "clock noon", "line 15"),
        ("kernel 6.1.0-56-amd64\n", "", "expected one line 'kernel', found 0"),
        ("memlock unlimited", "memlock unlimited\nmemlock 1", "one line 'memlock', found 2"),
        ("node n2\n", "node n2\n\n", None),
    ],
)
def test_damaged_facts_name_their_node(path: Path, old: str, new: str, where: str | None) -> None:
    path.write_text(TEXT.replace(old, new))
    if where is None:
        assert read_facts(path).node == "n2", "an empty line says nothing"
        return
    with pytest.raises(FabricheckError) as caught:
        read_facts(path)
    assert str(caught.value).startswith("facts.n2")
    assert where in str(caught.value)
    assert "are damaged, run the case again" in str(caught.value)
