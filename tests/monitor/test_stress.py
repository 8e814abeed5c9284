"""The stress as metrics: the older names with the figures of their own example, and their end."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.monitor import conftest
from tests.stress.made import BEGIN, block, place

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.monitor import stress
from fabricheck.monitor.catalog import Sample
from fabricheck.monitor.exposition import PLAIN, render
from fabricheck.monitor.stress import Doing, Stress
from fabricheck.record.entries import CaseEntry
from fabricheck.schedulers.protocol import Phase, Standing
from fabricheck.schedulers.slurm import SLURM
from fabricheck.stress.state import StressDirectory

MIB = 1 << 20
PLACE = ',system="testbed",partition="main",environment="openmpi",transport="rc"'
ALLOWED = 331  # seconds from one block to the next, by the plan


class Scheduler:
    """Says what it is told to say."""

    name, reports, is_silent = SLURM.name, SLURM.reports, staticmethod(SLURM.is_silent)

    def __init__(self) -> None:
        self.says: Standing | None = Standing(Phase.RUNNING)
        self.nodes: dict[str, str] = {}
        self.asked = 0
        self.now = BEGIN + 5.0

    def node_states(self) -> dict[str, str]:
        return self.nodes

    def standing(self, name: str, job: str) -> Standing:
        assert (name, job) in {("fabricheck-stress-s", "17"), ("fabricheck-stress-t", "18")}
        self.asked += 1
        if self.says is None:
            raise FabricheckError("expected an answer of squeue, found none")
        return self.says


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    made = Scheduler()
    monkeypatch.setattr(stress, "scheduler_for", lambda plan, patience: made)
    monkeypatch.setattr(stress, "_ASK_EVERY", 0.0)
    monkeypatch.setattr(stress.time, "time", lambda: made.now)
    return made


def values(samples: Iterable[Sample]) -> dict[str, float]:
    """Values by name and labels, without those that tell where the one stress runs."""
    return {name.replace(PLACE, ""): each for name, each in conftest.values(samples).items()}


def latest(found: Iterable[str]) -> list[str]:
    """Those that tell a latency of now; what counts all blocks goes on."""
    counted = ("fabricheck_stress_block_latency", "fabricheck_stress_greatest")
    return [each for each in found if "latency_" in each and not each.startswith(counted)]


def seed(reports: Path) -> StressDirectory:
    return place(
        reports / "stress" / "s",
        block("1.1", value=1.0),
        block("2.1", value=44977.66),
        block("2.2", "bcast", 22456.69, at=BEGIN + 1),
        block("2.3", "alltoall", 123488.25, size=MIB, at=BEGIN + 2),
        block("2.4", "allgather", 127229.43, size=2 * MIB, at=BEGIN + 3, level="critical"),
        job="17",
    )


def test_the_older_names_say_what_their_example_says(tmp_path: Path, scheduler: Scheduler) -> None:
    seed(tmp_path)
    samples = list(Stress(tmp_path).read())
    older = {name: each for name, each in values(samples).items() if name.startswith("mpi_")}
    assert older == {
        'mpi_allreduce_latency_us{size="4MB",nodes="8"}': 44977.66,
        'mpi_broadcast_latency_us{size="4MB",nodes="8"}': 22456.69,
        'mpi_alltoall_latency_us{size="1MB",nodes="8"}': 123488.25,
        'mpi_allgather_latency_us{size="2MB",nodes="8"}': 127229.43,
        "mpi_stress_test_running": 1,
        "mpi_stress_test_iteration": 2,
        "mpi_benchmark_last_update_timestamp": BEGIN + 3,
    }
    assert b"# TYPE mpi_stress_test_iteration gauge\n" in render(samples)[PLAIN]


def test_ours_have_seconds_and_bounds(tmp_path: Path, scheduler: Scheduler) -> None:
    seed(tmp_path)
    found = values(Stress(tmp_path).read())
    point = 'name="s",operation="allreduce",size_bytes="4194304",nodes="8",statistic="avg"'
    assert found[f"fabricheck_stress_latency_seconds{{{point}}}"] == pytest.approx(0.04497766)
    assert found[f"fabricheck_stress_critical_seconds{{{point}}}"] == pytest.approx(0.06)
    assert found[f"fabricheck_stress_warning_seconds{{{point}}}"] == pytest.approx(0.04)
    assert found['fabricheck_stress_blocks_total{name="s",level="critical"}'] == 1
    assert found['fabricheck_stress_blocks_total{name="s",level="good"}'] == 4
    assert found['fabricheck_stress_last_block_timestamp_seconds{name="s"}'] == BEGIN + 3
    # Of the plan: a block may take 300 s, a pause one; and half a minute until it is here.
    assert found['fabricheck_stress_overdue_timestamp_seconds{name="s"}'] == BEGIN + 3 + ALLOWED
    assert found['fabricheck_stress_until_timestamp_seconds{name="s"}'] == BEGIN + 3600


@pytest.mark.parametrize(
    ("says", "running", "waiting"),
    [
        (Standing(Phase.WAITING, "BeginTime"), 0.0, 1.0),
        (Standing(Phase.GONE), 0.0, 0.0),
        (None, None, None),
    ],
)
def test_what_does_not_run_has_no_latency(
    tmp_path: Path, scheduler: Scheduler, says: Standing | None, running: float, waiting: float
) -> None:
    seed(tmp_path)
    source = Stress(tmp_path)
    assert len(values(source.read())) > 10
    scheduler.says = says
    if says is None:
        # A scheduler that is silent says nothing against blocks that still come.
        assert latest(values(source.read()))
        scheduler.now += ALLOWED
    found = values(source.read())
    assert found.get('fabricheck_stress_running{name="s"}') == running
    assert found.get("mpi_stress_test_running") == running
    assert found.get('fabricheck_stress_waiting{name="s"}') == waiting
    assert not [*latest(found), *(name for name in found if "overdue" in name)]
    assert found['fabricheck_stress_blocks_total{name="s",level="critical"}'] == 1


def test_the_series_end_with_the_stress(tmp_path: Path, scheduler: Scheduler) -> None:
    made = seed(tmp_path)
    source = Stress(tmp_path)
    assert "mpi_stress_test_iteration" in values(source.read())
    made.change(ended=BEGIN + 9.0, why="a stop was asked for")
    asked = scheduler.asked
    found = values(source.read())
    assert not [name for name in found if "latency" in name or "iteration" in name]
    assert found['fabricheck_stress_state{name="s",state="ended"}'] == 1
    assert found["mpi_stress_test_running"] == 0
    assert found['fabricheck_stress_last_block_timestamp_seconds{name="s"}'] == BEGIN + 3
    assert scheduler.asked == asked


def test_a_new_block_is_read_and_a_cut_line_is_not(tmp_path: Path, scheduler: Scheduler) -> None:
    made = seed(tmp_path)
    source = Stress(tmp_path)
    list(source.read())
    with made.lines.open("ab") as file:
        file.write(b'{"crc":"')
    assert values(source.read())["mpi_stress_test_iteration"] == 2
    made.append(block("3.1", value=50.0, at=BEGIN + 9))
    found = values(source.read())
    assert found["mpi_stress_test_iteration"] == 3
    assert found['mpi_allreduce_latency_us{size="4MB",nodes="8"}'] == 50.0


def test_the_scheduler_is_not_asked_at_each_reading(
    tmp_path: Path, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stress, "_ASK_EVERY", 1000.0)
    seed(tmp_path)
    source = Stress(tmp_path)
    for _ in range(3):
        list(source.read())
    assert scheduler.asked == 1


def test_marks_and_latency_that_rise_together_correlate(
    tmp_path: Path, scheduler: Scheduler
) -> None:
    made = place(tmp_path / "stress" / "s", job="17")
    for number in range(1, 13):
        made.append(block(f"{number}.1", value=100.0 + number, marks=number * 7.0))
    name = 'fabricheck_stress_ecn_latency_correlation{name="s"}'
    assert values(Stress(tmp_path).read())[name] == pytest.approx(1.0)
    for number in range(13, 25):
        made.append(block(f"{number}.1", value=100.0 - number, marks=number * 7.0))
    assert values(Stress(tmp_path).read())[name] < 0.5


def test_two_at_a_time_have_series_of_their_own(tmp_path: Path, scheduler: Scheduler) -> None:
    seed(tmp_path)
    place(tmp_path / "stress" / "t", block("7.1", value=3.0), job="18")
    found = values(Stress(tmp_path).read())
    assert found['fabricheck_stress_iterations_total{name="t"}'] == 7
    assert found["mpi_stress_test_iteration"] == 2


def test_the_number_of_series_is_bounded(tmp_path: Path, scheduler: Scheduler) -> None:
    made = seed(tmp_path)
    source = Stress(tmp_path)
    before = len(values(source.read()))
    for number in range(3, 60):
        made.append(block(f"{number}.1", value=float(number), at=BEGIN + number))
    assert len(values(source.read())) == before


def doing(found: dict[str, float]) -> str:
    (name,) = (each for each in found if each.startswith("fabricheck_stress_state") and found[each])
    return name.partition('state="')[2].rstrip('"}')


def latencies(found: dict[str, float], operation: str = "allreduce") -> list[str]:
    ours = [
        name
        for name in found
        if f'stress_latency_seconds{{name="s",operation="{operation}"' in name
    ]
    older = [name for name in found if name.startswith(f"mpi_{operation}_latency_us")]
    return [*ours, *older]


def test_a_block_that_failed_ends_the_latency_of_its_kind_alone(
    tmp_path: Path, scheduler: Scheduler
) -> None:
    made = seed(tmp_path)
    source = Stress(tmp_path)
    assert latencies(values(source.read()))
    made.append(failed("3.1", at=BEGIN + 4))
    found = values(source.read())
    assert latencies(found) == []
    assert latencies(found, "alltoall")
    assert found['fabricheck_stress_last_block_timestamp_seconds{name="s"}'] == BEGIN + 4
    assert found['fabricheck_stress_last_good_block_timestamp_seconds{name="s"}'] == BEGIN + 2
    assert found["mpi_benchmark_last_update_timestamp"] == BEGIN + 3
    assert found['fabricheck_stress_blocks_total{name="s",level="untrusted"}'] == 1
    made.append(block("4.1", value=50.0, at=BEGIN + 5))
    assert values(source.read())['mpi_allreduce_latency_us{size="4MB",nodes="8"}'] == 50.0


def failed(number: str, at: float) -> CaseEntry:
    """A block whose program did not run."""
    return replace(block(number, at=at, level="untrusted"), samples=())


def test_a_block_with_marks_and_one_without_are_of_one_kind(
    tmp_path: Path, scheduler: Scheduler
) -> None:
    made = place(tmp_path / "stress" / "s", job="17")
    for number, marks in enumerate((1.0, None, 1.0), start=1):
        made.append(block(f"{number}.1", value=number, marks=marks, at=BEGIN + number))
    found = values(Stress(tmp_path).read())
    assert found['mpi_allreduce_latency_us{size="4MB",nodes="8"}'] == 3


def test_every_level_is_counted_from_the_start(tmp_path: Path, scheduler: Scheduler) -> None:
    place(tmp_path / "stress" / "s", job="17")
    found = values(Stress(tmp_path).read())
    counted = {name: each for name, each in found.items() if "blocks_total" in name}
    assert set(counted.values()) == {0}
    assert len(counted) == len(Level)
    assert found['fabricheck_stress_overdue_timestamp_seconds{name="s"}'] == BEGIN + ALLOWED


def test_a_stress_that_makes_no_block_has_no_latency(tmp_path: Path, scheduler: Scheduler) -> None:
    seed(tmp_path)
    source = Stress(tmp_path)
    assert latencies(values(source.read()))
    scheduler.now = BEGIN + 3 + ALLOWED + 1
    found = values(source.read())
    assert not latest(found)
    assert found['fabricheck_stress_overdue_timestamp_seconds{name="s"}'] < scheduler.now
    assert doing(found) == "running"


def test_a_value_of_long_ago_is_not_told_though_other_blocks_come(
    tmp_path: Path, scheduler: Scheduler
) -> None:
    made = seed(tmp_path)
    source = Stress(tmp_path)
    # A fabric that hangs: each block is ended at its limit, and the others wait for their turn.
    for number in (1, 2):
        scheduler.now = BEGIN + 3 + number * 301
        made.append(failed(f"3.{number}", at=scheduler.now))
        found = values(source.read())
        assert bool(latencies(found, "allgather")) == (number == 1)
    assert not latest(found)
    assert "mpi_benchmark_last_update_timestamp" not in found


def test_a_value_of_a_long_iteration_stays(tmp_path: Path, scheduler: Scheduler) -> None:
    made = place(tmp_path / "stress" / "s", job="17")
    for number in range(1, 5):
        made.append(block(f"1.{number}", size=MIB << number, at=BEGIN + 200 * number))
    scheduler.now = BEGIN + 1100
    assert len(latencies(values(Stress(tmp_path).read()))) == 4 * 5


def test_a_stress_that_comes_back_is_not_stuck(tmp_path: Path, scheduler: Scheduler) -> None:
    seed(tmp_path).change(resumed=BEGIN)
    source = Stress(tmp_path)
    for says in (Phase.RUNNING, Phase.WAITING, Phase.RUNNING):
        scheduler.now += 600
        scheduler.says = Standing(says)
        found = values(source.read())
    assert found['fabricheck_stress_overdue_timestamp_seconds{name="s"}'] == scheduler.now + ALLOWED


def test_a_duty_makes_blocks_rare(tmp_path: Path, scheduler: Scheduler) -> None:
    made = place(tmp_path / "stress" / "s", job="17")
    made.write_plan({**made.read_plan(), "duty": 0.02})
    name = 'fabricheck_stress_overdue_timestamp_seconds{name="s"}'
    made.append(block("1.1", at=BEGIN + 2))
    # After two seconds of work a hundred pass; it is stuck after ten times as long.
    assert values(Stress(tmp_path).read())[name] == BEGIN + 2 + 980 + ALLOWED
    made.append(block("1.2", at=BEGIN + 102))
    assert values(Stress(tmp_path).read())[name] == BEGIN + 102 + 980 + ALLOWED


@pytest.mark.parametrize(
    ("says", "state", "expected"),
    [
        (Standing(Phase.WAITING), {"resumed": 0.0}, "waiting"),
        (Standing(Phase.WAITING), {"resumed": 5.0}, "requeued"),
        (Standing(Phase.WAITING), {"resumed": 5.0, "yielded": 6.0}, "preempted"),
        (Standing(Phase.WAITING), {"resumed": 7.0, "yielded": 6.0}, "requeued"),
        (Standing(Phase.WAITING, nodes="n[1-8]"), {"resumed": 5.0}, "preempted"),
        (Standing(Phase.RUNNING), {}, "running"),
        (Standing(Phase.GONE), {}, "gone"),
        (Standing(Phase.RUNNING), {"ended": 1.0}, "ended"),
        (Standing(Phase.RUNNING), {"job": ""}, "waiting"),
        (None, {}, "unknown"),
    ],
)
def test_what_it_is_doing(
    tmp_path: Path,
    scheduler: Scheduler,
    says: Standing | None,
    state: dict[str, Any],
    expected: str,
) -> None:
    seed(tmp_path).change(**state)
    scheduler.says = says
    found = values(Stress(tmp_path).read())
    assert doing(found) == expected
    assert sum(name.startswith("fabricheck_stress_state") for name in found) == len(Doing)


def test_nodes_that_are_dead_or_left_out_have_names(tmp_path: Path, scheduler: Scheduler) -> None:
    made = place(tmp_path / "stress" / "s", block("1.1", nodes=4), job="17")
    made.write_plan({**made.read_plan(), "exclude": ["n9"]})
    cause = "link down on n3 mlx5_0:1: the port is DOWN (Polling): look at the cable"
    made.append(replace(block("1.2", nodes=4), fabric_causes=(cause,)))
    scheduler.nodes = {"n1": "idle", "n2": "down*", "n9": "down"}
    # Also while its job waits, since one of its nodes died.
    scheduler.says = Standing(Phase.WAITING)
    found = values(Stress(tmp_path).read())
    dead = {name[-4:-2]: each for name, each in found.items() if "node_dead" in name}
    assert dead == {"n1": 0, "n2": 1, "n3": 1, "n4": 0}
    # What the dead node ends before its first line has no nodes, and soon there are hundreds of it.
    for number in range(200):
        made.append(replace(block(f"{number + 2}.1", nodes=4), nodes=()))
    found = values(Stress(tmp_path).read())
    assert {name[-4:-2]: each for name, each in found.items() if "node_dead" in name} == {
        "n1": 0,
        "n2": 1,
        "n3": 0,
        "n4": 0,
    }
    assert found['fabricheck_stress_node_excluded{name="s",node="n9"}'] == 1


def test_a_node_that_was_left_out_stays_an_alert_and_the_others_have_a_time(
    tmp_path: Path, scheduler: Scheduler
) -> None:
    made = seed(tmp_path)
    measured = {"n1": BEGIN + 2.0, "n4": 0.0, "n9": 0.0}
    made.change(dead={"n9": "link down on n9 eth0"}, measured=measured)
    found = values(Stress(tmp_path).read())
    assert found['fabricheck_stress_node_dead{name="s",node="n9"}'] == 1
    assert found['fabricheck_stress_node_excluded{name="s",node="n9"}'] == 1
    late = "fabricheck_stress_node_due_timestamp_seconds"
    # Who was never measured has as long as a stress has since it was started.
    assert {name: each for name, each in found.items() if name.startswith(late)} == {
        f'{late}{{name="s",node="n1"}}': BEGIN + 3602,
        f'{late}{{name="s",node="n4"}}': BEGIN + 3600,
    }


def test_a_stress_that_waits_for_a_run_is_paused(tmp_path: Path, scheduler: Scheduler) -> None:
    made = seed(tmp_path)
    made.change(paused="a run measures in this checkout")
    for phase in (Phase.WAITING, Phase.RUNNING):
        scheduler.says = Standing(phase)
        found = values(Stress(tmp_path).read())
        assert found['fabricheck_stress_state{name="s",state="paused"}'] == 1
        assert found['fabricheck_stress_running{name="s"}'] == 0
        assert not latest(found)
    scheduler.says = Standing(Phase.GONE)
    assert values(Stress(tmp_path).read())['fabricheck_stress_state{name="s",state="gone"}'] == 1
