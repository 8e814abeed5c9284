"""The stress as metrics: the older names with the figures of their own example, and their end."""

from pathlib import Path

import pytest
from tests.monitor.conftest import values
from tests.stress.made import BEGIN, block, place

from fabricheck.errors import FabricheckError
from fabricheck.monitor import stress
from fabricheck.monitor.exposition import PLAIN, render
from fabricheck.monitor.stress import Stress
from fabricheck.stress.scheduler import Phase, Standing
from fabricheck.stress.state import Place

MIB = 1 << 20


class Scheduler:
    """Says what it is told to say."""

    def __init__(self) -> None:
        self.says: Standing | None = Standing(Phase.RUNNING)
        self.asked = 0

    def standing(self, job: str) -> Standing:
        self.asked += 1
        if self.says is None:
            raise FabricheckError("expected an answer of squeue, found none")
        return self.says


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    made = Scheduler()
    monkeypatch.setattr(stress, "scheduler_for", lambda plan: made)
    monkeypatch.setattr(stress, "_ASK_EVERY", 0.0)
    return made


def seed(reports: Path) -> Place:
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
    assert found['fabricheck_stress_overdue_timestamp_seconds{name="s"}'] == BEGIN + 3 + 60


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
    found = values(source.read())
    assert found.get('fabricheck_stress_running{name="s"}') == running
    assert found.get("mpi_stress_test_running") == running
    assert found.get('fabricheck_stress_waiting{name="s"}') == waiting
    left = {name.partition("{")[0] for name in found}
    assert left <= {
        "fabricheck_stress_running",
        "fabricheck_stress_waiting",
        "fabricheck_stress_last_block_timestamp_seconds",
        "mpi_stress_test_running",
    }


def test_the_series_end_with_the_stress(tmp_path: Path, scheduler: Scheduler) -> None:
    made = seed(tmp_path)
    source = Stress(tmp_path)
    assert "mpi_stress_test_iteration" in values(source.read())
    made.change(ended=BEGIN + 9.0, why="a stop was asked for")
    asked = scheduler.asked
    found = values(source.read())
    assert not [name for name in found if "latency" in name or "iteration" in name]
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
