"""Reference files are changed in their text: what is meant, and not a character more."""

import difflib
from pathlib import Path

import pytest
import yaml
from tests.baseline.nights import FIRST

from fabricheck.baseline.reference_text import NEW_INDEX, ReferenceText, lacking, path_of
from fabricheck.errors import FabricheckError
from fabricheck.judge.model import CaseKey
from fabricheck.judge.references import resolve
from fabricheck.provenance import SUITE

CHECK = "MpiPointToPoint"
CASE = CaseKey("hpc", "hpc:cpu", "openmpi", "latency", "rc-2n")
ENTRY = {"latency_p50_8B": "[2.5, -0.5, 0.1, us]"}
INDEX = ("$system", "$environ", "benchmark", "placement")
PATTERN = """\
# By hand.
MpiPointToPoint:
  $index: [$system, $environ, benchmark, placement]
  hpc:
    (openmpi|mpich):  # both
      latency:
        rc-2n: {latency_p50_8B: [9, -0.5, 5, us],
                latency_p99_8B: [9, -0.5, 5, us]}   # wide
        rc-4n: {latency_p50_8B: [11, -0.5, 5, us]}
      (bw|bibw): {rc-2n: {bandwidth_avg_8B: [1000, -0.5, 5, MB/s]}}
"""


def written(text: str, entry: dict[str, str], case: CaseKey = CASE) -> str:
    file = ReferenceText(text, Path("hpc.yaml"))
    index = file.index(CHECK)
    file.write(CHECK, path_of(case, index or NEW_INDEX), entry)
    return file.result()


def changed_lines(old: str, new: str) -> list[str]:
    """What a diff adds."""
    found = difflib.ndiff(old.splitlines(), new.splitlines())
    return [line[2:].strip() for line in found if line.startswith("+ ")]


def held(text: str, case: CaseKey, tmp_path: Path) -> dict[str, float]:
    path = tmp_path / "hpc.yaml"
    levels = f"{CHECK}.levels:\n  $index: [benchmark]\n  .*: {{warning: [null, null], "
    path.write_text(f"{text}\n{levels}kind: bound, source: test, date: {FIRST.date()}}}\n")
    return {name: each.value for name, each in resolve(path, CHECK, case)[0].items()}


def test_a_value_is_replaced_where_it_stands():
    text = PATTERN.replace("(openmpi|mpich)", "openmpi")
    assert written(text, ENTRY) == text.replace(
        "8B: [9, -0.5, 5, us],\n", "8B: [2.5, -0.5, 0.1, us],\n"
    )


def test_what_says_the_same_stays_as_it_is_written():
    text = PATTERN.replace("(openmpi|mpich)", "openmpi")
    assert written(text, {"latency_p50_8B": "[9.0, -0.50, 5, us]"}) == text


def test_a_variable_is_added_to_its_entry():
    block = "MpiPointToPoint:\n  $index: [benchmark]\n  latency:\n    latency_p50_1B: [1] # x\n"
    new = {"latency_p50_8B": "[2, 0, 1, us]"}
    assert written(block, new) == block + "    latency_p50_8B: [2, 0, 1, us]\n"
    flow = "MpiPointToPoint: {$index: [benchmark], latency: {a: [1, 0, 1, us], }}\n"
    assert yaml.safe_load(written(flow, new))[CHECK]["latency"] == {
        "a": [1, 0, 1, "us"],
        "latency_p50_8B": [2, 0, 1, "us"],
    }


def test_a_case_of_a_pattern_gets_its_own_entry_and_others_keep_theirs(tmp_path: Path):
    new = written(PATTERN, ENTRY)
    assert changed_lines(PATTERN, new) == [
        "(openmpi|mpich): &others1  # both",
        "latency: &others2",
        "openmpi:",
        "<<: *others1",
        "latency:",
        "<<: *others2",
        "rc-2n:",
        "latency_p50_8B: [2.5, -0.5, 0.1, us]",
    ]
    before = {"latency_p50_8B": 9.0, "latency_p99_8B": 9.0}
    assert held(new, CASE, tmp_path) == {"latency_p50_8B": 2.5}
    others = (
        ("openmpi", "latency", "rc-4n"),
        ("mpich", "latency", "rc-2n"),
        ("openmpi", "bibw", "rc-2n"),
    )
    for others_of in others:
        other = CaseKey("hpc", "hpc:cpu", *others_of)
        assert held(new, other, tmp_path) == held(PATTERN, other, tmp_path) != {}
    mpich = CaseKey("hpc", "hpc:cpu", "mpich", "latency", "rc-2n")
    assert held(new, mpich, tmp_path) == before


def test_a_second_case_goes_where_the_first_went():
    once = written(PATTERN, ENTRY)
    again = written(once, ENTRY, CaseKey("hpc", "hpc:cpu", "openmpi", "latency", "rc-4n"))
    assert (
        again
        == once.rstrip("\n") + "\n        rc-4n:\n          latency_p50_8B: [2.5, -0.5, 0.1, us]\n"
    )


def test_a_section_that_is_not_there_is_added():
    new = written("# Mine.\n", ENTRY)
    assert new.startswith("# Mine.\n\nMpiPointToPoint:\n  $index: [$partition, $environ, ")
    assert "\n  hpc:cpu:\n    openmpi:\n      latency:\n        rc-2n:\n" in new
    assert yaml.safe_load(new)[CHECK]["$index"] == [
        "$partition",
        "$environ",
        "benchmark",
        "placement",
    ]


def test_known_failures_stay():
    failure = "['$xfail', ticket, [1, 0, 1, us]]"
    text = f"{CHECK}:\n  $index: [benchmark]\n  latency:\n    latency_p50_8B: {failure}\n"
    assert written(text, ENTRY) == text


def test_an_alias_becomes_an_entry_of_its_own():
    text = (
        "MpiPointToPoint:\n  $index: [$environ, benchmark]\n"
        "  mpich: &x\n    latency: {latency_p50_8B: [1, 0, 1, us]}\n    bw: {a: [1, 0, 1, us]}\n"
        "  openmpi: *x\n"
    )
    data = yaml.safe_load(written(text, ENTRY))[CHECK]
    assert data["openmpi"] == {
        "latency": {"latency_p50_8B": [2.5, -0.5, 0.1, "us"]},
        "bw": {"a": [1, 0, 1, "us"]},
    }
    assert data["mpich"]["latency"] == {"latency_p50_8B": [1, 0, 1, "us"]}


def test_what_others_share_is_not_changed():
    text = (
        "MpiPointToPoint:\n  $index: [$environ, benchmark]\n"
        "  openmpi: &x\n    latency: {latency_p50_8B: [1, 0, 1, us]}\n  mpich: *x\n"
    )
    with pytest.raises(FabricheckError, match="line 3: expected an entry of its own for openmpi"):
        written(text, ENTRY)


def test_an_index_lacks_what_keeps_cases_apart():
    mpich = CaseKey("hpc", "hpc:cpu", "mpich", "latency", "rc-2n")
    gpu = CaseKey("hpc", "hpc:gpu", "openmpi", "latency", "rc-2n")
    wide = CaseKey("hpc", "hpc:cpu", "openmpi", "latency", "rc-4n")
    assert lacking(("$system", "benchmark"), [CASE]) == ()
    assert lacking(("$system", "benchmark"), [CASE, mpich]) == ("$environ",)
    assert lacking(("benchmark", "transport"), [CASE, gpu, wide]) == ("placement", "$partition")
    assert lacking(INDEX, [CASE, mpich, wide]) == ()


@pytest.mark.parametrize("system", ["local", "testbed"])
def test_an_index_can_be_extended_and_all_cases_keep_what_they_have(system: str):
    text = (SUITE / "references" / f"{system}.yaml").read_text()
    file = ReferenceText(text, Path("x.yaml"))
    for section in (CHECK, f"{CHECK}.levels"):
        file.extend_index(section, "$environ")
    old, new = (yaml.load(each, yaml.CSafeLoader) for each in (text, file.result()))
    for section, tree in old.items():
        if not section.startswith(CHECK):
            assert new[section] == tree
            continue
        assert new[section].pop("$index") == [*tree.pop("$index"), "$environ"]
        assert new[section] == {
            name: {b: {p: {".*": leaf} for p, leaf in ps.items()} for b, ps in bs.items()}
            for name, bs in tree.items()
        }


def test_an_index_in_braces_can_be_extended():
    text = "MpiPointToPoint: {$index: [benchmark], latency: {a: [1, 0, 1, us]}}\n"
    file = ReferenceText(text, Path("x.yaml"))
    file.extend_index(CHECK, "$environ")
    assert yaml.safe_load(file.result())[CHECK] == {
        "$index": ["benchmark", "$environ"],
        "latency": {".*": {"a": [1, 0, 1, "us"]}},
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "S:\n  $index: [a]\n  x:\n    kind: b\n    expired: old # y\n    date: 1\n",
            {"kind": "b", "date": 1},
        ),
        ("S:\n  $index: [a]\n  x: {kind: b, expired: old}\n", {"kind": "b"}),
        ("S:\n  $index: [a]\n  x: {expired: old, kind: b}\n", {"kind": "b"}),
        ("S:\n  $index: [a]\n  x: {kind: b}\n", {"kind": "b"}),
    ],
)
def test_a_key_is_removed(text: str, left: dict[str, object]):
    file = ReferenceText(text, Path("x.yaml"))
    file.remove("S", ["x"], "expired")
    assert yaml.safe_load(file.result())["S"]["x"] == left
