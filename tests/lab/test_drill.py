"""A drill on a stand-in scene: what counts as seen, as missed, and as left behind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from drill.drill import Outcome, drill
from drill.fault import Expectation, Fault, Key, Seen, read_faults
from drill.scene import Scene
from fabricheck.errors import FabricheckError
from fabricheck.judge.layers import FaultPlace
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status

WRITE = Key("ib_write_bw", "builtin", "rc-2n")
TAG = Key("ucx_tag_bw", "builtin", "rc-2n")
BW = Key("bw", "openmpi", "rc-2n")
NODES = Key("node_health", "builtin")
CASES = (WRITE, TAG, BW, NODES)
RED = (Status.CRITICAL, "bandwidth_avg at 64KiB: 2.4 MB/s, below 3 MB/s")
GOOD = (Status.GOOD,)
Looks = Mapping[Key, tuple[Any, ...]]
CLEAN: Looks = dict.fromkeys(CASES, GOOD)
SLOW: Looks = {**CLEAN, WRITE: RED, TAG: RED, BW: RED}


def run(looks: Looks) -> ReportedRun:
    return ReportedRun(
        path=Path("run.json"), session="",
        cases=tuple(case(key, *look) for key, look in looks.items()),
    )  # fmt: skip


def case(key: Key, status: Status, *causes: str) -> ReportedCase:
    return ReportedCase(
        time="", check="", name=str(key), status=status, system="testbed", partition="rdma",
        environ=key.environ, benchmark=key.benchmark, transport="rc" if key.placement else "",
        num_nodes=2, ranks=2, causes=causes, nodes=("rx1", "rx2"),
    )  # fmt: skip


class Stage:
    """A scene whose runs are made up, and that remembers what was done to it."""

    def __init__(self, *runs: Looks, mended: Sequence[str] = ()) -> None:
        self.done: list[str] = []
        self._runs = iter(runs)
        self._mended = list(mended)

    def run(
        self,
        partition: str,
        cases: Sequence[Key],
        site: Mapping[str, str],
        in_mid_job: Callable[[], None] | None = None,
    ) -> ReportedRun:
        self.done.append(f"run with {dict(site)}" if site else "run")
        if in_mid_job:
            in_mid_job()
        looks = next(self._runs)
        if looks is DEAD:
            raise FabricheckError("expected a run report")
        return run(looks)

    def inject(self, fault: Fault) -> None:
        self.done.append("inject")

    def undo(self, fault: Fault) -> list[str]:
        self.done.append("undo")
        return self._mended


DEAD: Looks = {}


def fault(**changes: Any) -> Fault:
    entry: dict[str, Any] = {
        "name": "rate",
        "title": "20 Mbit/s",
        "partition": "rdma",
        "steps": (("rx1", "rate 20mbit"),),
        "in_mid_job": False,
        "site": {},
        "cases": CASES,
        "expected": (Expectation(BW, Seen.RED, "bandwidth_.*below"),),
        "explained": {BW: (FaultPlace.FABRIC,)},
        "remark": "",
    }
    return Fault(**(entry | changes))


def hold(stage: Stage, *faults: Fault) -> Iterator[Outcome]:
    return drill(cast("Scene", stage), faults or (fault(),), lambda _: None)


def test_a_fault_is_injected_seen_and_undone_and_all_is_green_again() -> None:
    stage = Stage(CLEAN, SLOW, CLEAN)
    (outcome,) = hold(stage)
    assert stage.done == ["run", "inject", "run", "undo", "run"]
    assert outcome.passed
    assert outcome.sights[BW].places == ("fabric",)
    assert outcome.sights[WRITE].places is None
    assert (
        "critical ib_write_bw builtin rc-2n and 2 others on rx[1-2] (fault below "
        in outcome.first_line
    )


def test_what_happens_in_mid_job_happens_while_it_runs() -> None:
    stage = Stage(CLEAN, SLOW, CLEAN)
    assert next(hold(stage, fault(in_mid_job=True, site={"a": "b"}))).passed
    assert stage.done == ["run", "run with {'a': 'b'}", "inject", "undo", "run"]


@pytest.mark.parametrize(
    ("looks", "changes", "missed"),
    [
        ({**SLOW, BW: GOOD}, {"explained": {}}, "expected bw openmpi rc-2n to be red, found good"),
        ({**SLOW, BW: (Status.WARNING, "bandwidth_avg below")}, {"explained": {}},
         "expected bw openmpi rc-2n to be red, found warning"),
        ({**SLOW, BW: (Status.FAILED, "bandwidth_avg below")}, {"explained": {}},
         "expected bw openmpi rc-2n to be red, found failed"),
        ({**SLOW, BW: (Status.CRITICAL, "latency")}, {}, "found critical, latency"),
        ({**SLOW, WRITE: GOOD, TAG: GOOD}, {}, "to name fabric, found MPI: MPI is red"),
        ({WRITE: RED, TAG: RED, NODES: GOOD}, {}, "bw openmpi rc-2n did not run"),
        (SLOW, {"expected": (Expectation(NODES, Seen.RED, ""),)},
         "expected node_health builtin to be red, found good"),
        (SLOW, {"expected": (Expectation(WRITE, Seen.GOOD, ""),)},
         "expected ib_write_bw builtin rc-2n to be good, found critical"),
    ],
)  # fmt: skip
def test_what_is_missed_is_told(looks: Looks, changes: Any, missed: str) -> None:
    (outcome,) = hold(Stage(CLEAN, looks, CLEAN), fault(**changes))
    assert not outcome.passed
    (told,) = outcome.missed
    assert missed in told


def test_what_is_left_behind_is_told() -> None:
    (outcome,) = hold(Stage(CLEAN, SLOW, SLOW, mended=["rx1 is drained"]))
    assert not outcome.passed
    assert not outcome.missed
    assert outcome.left_behind[0] == "rx1 is drained"
    assert outcome.left_behind[1].startswith("ib_write_bw builtin rc-2n: critical, bandwidth_avg")


def test_a_drill_begins_green_or_not_at_all() -> None:
    stage = Stage({**CLEAN, WRITE: (Status.NO_REFERENCE, "nothing judges it")})
    with pytest.raises(FabricheckError, match=r"green without a fault, found ib_write_bw .*no-ref"):
        list(hold(stage))
    assert stage.done == ["run"]


def test_a_fault_is_undone_also_when_its_run_fails() -> None:
    stage = Stage(CLEAN, DEAD)
    with pytest.raises(FabricheckError, match="expected a run report"):
        list(hold(stage))
    assert stage.done == ["run", "inject", "run", "undo"]


LIST = """
cases:
  few: [bw openmpi rc-2n, node_health builtin]
faults:
  - name: loss
    title: packets are lost
    partition: rdma
    steps: [rx1 loss 2%, rx2 dies]
    in_mid_job: true
    site: {"a: 1": "a: 2"}
    cases: few
    seen: [{case: bw openmpi rc-2n, level: red, words: 'lose|lost'}]
    explain: {bw openmpi rc-2n: [fabric]}
"""


def read(directory: Path, text: str) -> Fault:
    path = directory / "faults.yaml"
    path.write_text(text)
    (found,) = read_faults(path)
    return found


def test_a_fault_of_the_list(tmp_path: Path) -> None:
    found = read(tmp_path, LIST)
    assert found.cases == (BW, NODES)
    assert found.expected == (Expectation(BW, Seen.RED, "lose|lost"),)
    assert found.explained == {BW: (FaultPlace.FABRIC,)}
    assert found.quick().cases == (BW,)
    assert found.nodes == ("rx1", "rx2")
    assert found.injected == (
        "`rx1 loss 2%`, `kill -9` of rx2's first process, "
        "`a: 2` instead of `a: 1` in the site file in mid-job"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    title: packets are lost\n", ""),
        ("in_mid_job:", "mid_job:"),
        ("cases: few", "cases: many"),
        ("rx2 dies", "rx2"),
        ("rc-2n: [fabric]", "rc-2n: [cable]"),
        ("[bw openmpi rc-2n,", "[bwx openmpi rc-2n,"),
        ("level: red", "level: pink"),
        ("'lose|lost'", "'lose('"),
        ("{case: bw openmpi", "{case: bw mpich"),
        ("faults:", "faults: ["),
    ],
)
def test_what_is_no_fault_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert LIST.count(old) == 1
    with pytest.raises(FabricheckError, match="expected a list of faults"):
        read(tmp_path, LIST.replace(old, new))


def test_red_is_critical_or_untrusted_and_nothing_else() -> None:
    assert {each for each in Status if Seen.RED.fits(each)} == {
        Status.CRITICAL,
        Status.UNTRUSTED,
    }
