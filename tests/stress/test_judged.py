"""A block is judged as a case is: by references, by proof, by the ports below it."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.fabric.conftest import later, risen, snapshot_of
from tests.stress.made import block

from fabricheck.fabric.job import Node
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.launch import judging
from fabricheck.launch.cases import measurement_of
from fabricheck.launch.measurement import Evidence, Setting
from fabricheck.measures.curve import Curve, Point, Variable
from fabricheck.measures.metrics import Metric
from fabricheck.record.entries import CaseEntry
from fabricheck.stress import judged
from fabricheck.stress.judged import judge_block, links_of, words_of
from fabricheck.stress.mix import Block

pytestmark = pytest.mark.integration

PLAN = {"system": "hpc", "partition": "main", "environ": "openmpi"}
SIZE = 1 << 20
STATISTICS = ("avg", "p50", "p99", "max")


def run(
    value: float, stage: Path, placement: str = "shm-1n", objections: tuple[str, ...] = ()
) -> CaseEntry:
    measurement = measurement_of(Block("allreduce", (SIZE,), 5).case(placement, 1))
    points = (
        Point(SIZE, dict.fromkeys([(Metric.LATENCY, s) for s in STATISTICS], value), 5, True),
    )
    curve = Curve("allreduce", "mpi_probe", "1", None, MappingProxyType({}), points)
    setting = Setting(partition="hpc:main", features=["rdma"], mpi="openmpi", stage=stage)
    evidence = Evidence(curve=curve, hosts=("n1",), objections=objections)
    return judge_block(PLAN, measurement, setting, evidence, {"id": "1.1", "repeat": 1})


def test_a_block_beside_other_work_is_disturbed_and_not_critical(
    references: dict[Variable, Reference], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ["other programs had 40 % of the ranks' CPUs on n1 (4 s of 10 s)"]
    monkeypatch.setattr(judged, "find_disturbances", lambda *_, **__: told)
    for given in ({"value": 201.0}, {"value": 100.0, "objections": ("no proof",)}):
        case = run(stage=tmp_path, **given)
        assert (case.level, case.result, case.findings[0]) == ("disturbed", "fail", told[0])
        assert case.findings[1].startswith("what it gave: ")
    assert run(100.0, tmp_path).level == "good"


@pytest.fixture
def references(monkeypatch: pytest.MonkeyPatch) -> dict[Variable, Reference]:
    """References of all sizes of the curve, of which a block has one."""
    found = {
        Variable(Metric.LATENCY, name, size): Reference(100.0, None, 1.0, "us", warning=(None, 0.5))
        for name in STATISTICS
        for size in (1024, SIZE)
    }
    tolerance = Tolerance("bound", "tests", "2026-11-22", monotone=0.1, best=1.0)
    monkeypatch.setattr(judged, "find_references", lambda key, checks: (found, tolerance))
    return found


@pytest.mark.parametrize(
    ("value", "level", "result"),
    [(100.0, "good", "pass"), (160.0, "warning", "pass"), (201.0, "critical", "fail")],
)
def test_the_references_of_the_system_judge(
    references: dict[Variable, Reference], tmp_path: Path, value: float, level: str, result: str
) -> None:
    case = run(value, tmp_path)
    assert (case.level, case.result, case.check) == (level, result, "Stress")
    (p50,) = [each for each in case.samples if each.statistic == "p50"]
    assert (p50.value, p50.upper, p50.warning_upper) == (value, 200.0, 150.0)
    assert bool(case.findings) == (level != "good")
    assert words_of(case) == f"allreduce 1MiB {value:.0f} µs {level}"


def test_what_nothing_judges_and_what_is_not_proved_are_never_green(tmp_path: Path) -> None:
    case = run(1.0, tmp_path)
    assert (case.level, case.result) == ("no-reference", "fail")
    case = run(1.0, tmp_path, objections=("expected tcp, found none",))
    assert (case.level, case.result, case.samples) == ("untrusted", "fail", ())
    assert case.findings == ("expected tcp, found none",)
    assert words_of(case) == "allreduce no value untrusted"


def test_marks_of_the_same_seconds_stand_beside_the_latency(
    references: dict[Variable, Reference], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot_of("mlx5_roce", tmp_path / "node")
    nodes = [Node(before, risen(before, 10.0, np_ecn_marked_roce_packets=2000))]
    monkeypatch.setattr(judged, "read_nodes", lambda _: nodes)
    monkeypatch.setattr(judging, "read_nodes", lambda _: nodes)
    case = run(100.0, tmp_path, "rc-2n")
    (marks,) = [each for each in case.samples if each.metric == "ecn_rate"]
    assert (marks.value, marks.unit) == (200.0, "1/s")
    assert case.level == "warning"
    assert "200 marks/s" in words_of(case)


def test_a_dead_port_is_the_cause(
    references: dict[Variable, Reference], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot_of("mlx5_roce", tmp_path / "node")
    nodes = [Node(before, later(before, state="DOWN"))]
    monkeypatch.setattr(judged, "read_nodes", lambda _: nodes)
    monkeypatch.setattr(judging, "read_nodes", lambda _: nodes)
    case = run(100.0, tmp_path, "rc-2n", objections=("expected every rank to end",))
    assert case.level == "untrusted"
    assert case.fabric_causes[0].startswith("link down on n1 mlx5_0:1")
    assert case.findings[0] == case.fabric_causes[0]


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        ("rc-2n", {"n1 mlx5_0:1": "received 0 %, sent 20 % of 100 Gbit/s"}),
        ("tcp-2n", {"n1": "unknown, its ports were not read"}),
    ],
)
def test_the_use_of_links_is_told_of_the_ports_that_the_transport_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placement: str, told: dict[str, str]
) -> None:
    before = snapshot_of("mlx5_roce", tmp_path / "node")
    nodes = [Node(before, risen(before, 10.0, port_xmit_data=25 * 10**9 // 4))]
    monkeypatch.setattr(judged, "read_nodes", lambda _: nodes)
    plan = PLAN | {"placement": placement, "blocks": [{"setting": {"features": [], "extras": {}}}]}
    assert links_of(plan, block("1.1", nodes=1)) == told


def test_the_use_of_links_is_unknown_where_what_a_node_left_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "node.n1").write_text("nonsense\n")
    plan = PLAN | {"placement": "rc-2n", "blocks": [{"setting": {"features": [], "extras": {}}}]}
    case = replace(block("1.1", nodes=1), output=str(tmp_path))
    assert links_of(plan, case) == {"n1": "unknown, its ports were not read"}
