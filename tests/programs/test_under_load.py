"""mpi_under_load: its curves, its job, and what the ports saw beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.fabric.conftest import told, unpack
from tests.programs.results import document, named
from tests.refusals import refused

from fabricheck.launch import mpi
from fabricheck.launch.cases import LAUNCH, Case
from fabricheck.launch.measurement import Evidence, Job, Setting
from fabricheck.measures import registry
from fabricheck.measures.parser import parse
from fabricheck.programs.mpi_under_load.launch import UnderLoad, cases
from fabricheck.sites.extras import PartitionExtras

NAME = "allreduce_under_load"


def result(size: int, **more: Any) -> dict[str, Any]:
    return {
        "size": size,
        "iterations": 200,
        "warmup": 20,
        "idle": {"avg": 11e-6, "p50": 10e-6, "p99": 30e-6},
        "loaded": {"avg": 50e-6, "p50": 40e-6, "p99": 90e-6},
        "ratio_p50": 4.0,
        "ratio_p99": 3.0,
        "load": 2.5e9,
        "valid": True,
        **more,
    }


def written(*results: dict[str, Any], benchmark: str = "allreduce") -> str:
    found = document("mpi_under_load", benchmark, results)
    found["units"] |= {"idle": "s", "loaded": "s", "load": "B/s"}
    return json.dumps(found)


def test_a_curve_has_both_latencies_their_ratio_and_the_load() -> None:
    curve = parse(written(result(1024), result(65536)), "out", NAME)
    values = {name: value for name, (value, _) in named(curve.variables()).items()}
    assert {name: value for name, value in values.items() if name.endswith("_64KiB")} == {
        "loaded_latency_avg_64KiB": pytest.approx(50),
        "loaded_latency_p50_64KiB": pytest.approx(40),
        "loaded_latency_p99_64KiB": pytest.approx(90),
        "idle_latency_p50_64KiB": pytest.approx(10),
        "idle_latency_p99_64KiB": pytest.approx(30),
        "load_ratio_p50_64KiB": 4,
        "load_ratio_p99_64KiB": 3,
        "load_rate_avg_64KiB": pytest.approx(2500),
    }
    assert len(values) == 16


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (written(result(1024, load=0.0)), "expected a load at 1024 B, found that none was carried"),
        (written(result(1024, load=None)), "expected load in each result"),
        (written(result(1024, ratio_p99="x")), "expected ratio_p99 in each result"),
        (written(result(65536), result(1024)), "expected rising sizes"),
        (written(result(1024), result(1024)), "expected rising sizes"),
        (written(result(1024, valid=False)), "data validation failed"),
        (written(result(1024), benchmark="bcast"), "unknown benchmark 'bcast_under_load'"),
    ],
)
def test_what_is_no_measurement_under_load_is_refused(text: str, told: str) -> None:
    with refused("FC1112", told):
        parse(text, "out", NAME)


def test_it_runs_from_four_nodes_on_with_two_ranks_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cases("under_load")
    assert {case.placement.num_nodes for case in found} >= {4, 8}
    assert min(case.placement.num_nodes for case in found) == 4
    assert registry.part_of(NAME, LAUNCH).measurement is UnderLoad
    measured = UnderLoad(Case(NAME, "tcp-4n"))
    assert measured.systems == ["+tcp +nodes_4 +node_ranks_2"]
    assert measured.ranks(Setting()).total == 8
    assert measured.ranks(Setting()).per_node == 2
    assert measured.sizes(Setting()) == (1024, 65536, 1048576, 4194304)
    setting = Setting(
        extras=PartitionExtras(max_message_size=65536, time_budget=0.5), build=Programs()
    )
    monkeypatch.setattr(mpi, "start", lambda _place, _setting, words: Job(words=words))
    assert measured.job(setting).words == [
        "/bin/mpi_under_load", "-m", "1024,65536", "--validate", "--json", "result.json",
        "--time-budget", "0.5",
    ]  # fmt: skip


class Programs:
    provider = yield_library = mpi_version = ucx_info = ""

    def command(self, _benchmark: object) -> list[str]:
        return []

    def program(self, name: str) -> str:
        return f"/bin/{name}"


@pytest.mark.integration
def test_marks_and_pauses_of_the_same_seconds_stand_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = unpack("mlx5_roce", tmp_path / "tree")
    before = told(tree, "before")
    (uptime,) = tree.glob("proc/uptime")
    seconds = float(uptime.read_text().split()[0]) + 10
    uptime.write_text(f"{seconds} 1\n")
    (marks,) = tree.glob("sys/class/infiniband/*/ports/1/hw_counters/np_ecn_marked_roce_packets")
    marks.write_text(f"{int(marks.read_text()) + 4000}\n")
    stage = tmp_path / "stage"
    stage.mkdir()
    (stage / "node.n1").write_text(before + told(tree, "after"))
    monkeypatch.setattr(mpi, "examine", lambda *_, **__: Evidence(proof="seen"))
    measured = UnderLoad(Case(NAME, "rc-4n"))
    proof = measured.examine(Setting(stage=stage)).proof
    assert proof == (
        "seen; at most 400 ECN marks a second on a port, at most 0 pauses a second on a port"
    )
    (stage / "node.n1").write_text("damaged")
    assert measured.examine(Setting(stage=stage)).proof == "seen"
