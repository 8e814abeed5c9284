"""The list of faults is read strictly."""

from pathlib import Path

import pytest

from fabricheck.drill.model import Expectation, Fault, Key, Seen, read_faults
from fabricheck.errors import FabricheckError
from fabricheck.judge.layers import Place
from fabricheck.report.status import Status

GOOD = """
cases:
  few: [bw openmpi rc-2n, node_health builtin]
faults:
  - name: loss
    title: packets are lost
    partition: rdma
    steps: [rx1 loss 2%, rx2 dies]
    in_mid_job: true
    site: {'a: 1': 'a: 2'}
    cases: few
    seen: [{case: bw openmpi rc-2n, level: red, words: 'lose|lost'}]
    explain: {bw openmpi rc-2n: [fabric]}
    remark: as it is
"""


def read(tmp_path: Path, text: str) -> tuple[Fault, ...]:
    path = tmp_path / "list.yaml"
    path.write_text(text)
    return read_faults(path)


def test_every_key_is_read(tmp_path: Path) -> None:
    bw = Key("bw", "openmpi", "rc-2n")
    (fault,) = read(tmp_path, GOOD)
    assert fault == Fault(
        name="loss",
        title="packets are lost",
        partition="rdma",
        steps=(("rx1", "loss 2%"), ("rx2", "dies")),
        in_mid_job=True,
        site={"a: 1": "a: 2"},
        cases=(bw, Key("node_health", "builtin")),
        expected=(Expectation(bw, Seen.RED, "lose|lost"),),
        explained={bw: (Place.FABRIC,)},
        remark="as it is",
    )
    assert fault.quick().cases == (bw,)
    assert fault.nodes == ("rx1", "rx2")
    assert fault.injected == (
        "`fabricheck testbed fault rx1 loss 2%`, `kill -9` of rx2's first process, "
        "`a: 2` instead of `a: 1` in the site file in mid-job"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("faults:", "fault:", "unknown key 'fault': did you mean 'faults'"),
        ("faults:", "faults: [", "expected a list of faults in YAML"),
        ("    title: packets are lost\n", "", "faults > loss: expected the keys title, found none"),
        ("    remark:", "    remarks:", "unknown key 'remarks': did you mean 'remark'"),
        ("in_mid_job: true", "in_mid_job: 1 %", "in_mid_job: expected true or false, found '1 %'"),
        ("cases: few", "cases: many", "expected cases of few, found 'many'"),
        ("rx2 dies", "rx2", "expected a node and its fault, or 'dies', found 'rx2'"),
        ("[bw openmpi rc-2n,", "[bw openmpi,", "ENVIRONMENT PLACEMENT, .* found 'bw openmpi'"),
        ("rc-2n: [fabric]", "rc-2n: [cable]", "expected one of fabric, UCX, MPI, found 'cable'"),
        ("[bw openmpi rc-2n,", "[bwx openmpi rc-2n,", "unknown benchmark 'bwx'"),
        ("level: red", "level: pink", "expected one of red, warning, good, found 'pink'"),
        ("'lose|lost'", "'lose('", "expected a regular expression"),
        ("{case: bw openmpi rc-2n", "{case: bw mpich rc-2n", "expected a case that runs"),
        ("words: 'lose|lost'", "word: lost", "unknown key 'word': did you mean 'words'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(FabricheckError, match=message):
        read(tmp_path, GOOD.replace(old, new))


def test_a_name_stands_once(tmp_path: Path) -> None:
    twice = GOOD + GOOD.partition("faults:\n")[2]
    with pytest.raises(FabricheckError, match="line 15: faults > loss: expected each name once"):
        read(tmp_path, twice)


@pytest.mark.parametrize(
    ("seen", "fitting"),
    [
        (Seen.RED, {Status.CRITICAL, Status.UNTRUSTED}),
        (Seen.WARNING, {Status.WARNING}),
        (Seen.GOOD, {Status.GOOD}),
    ],
)
def test_red_is_critical_or_untrusted_and_nothing_else(seen: Seen, fitting: set[Status]) -> None:
    assert {status for status in Status if seen.fits(status)} == fitting
