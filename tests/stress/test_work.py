"""The worker: when a turn ends, what it does with a node that dies, and beside a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stress.made import place

from fabricheck.errors import FabricheckError
from fabricheck.locks import of_run
from fabricheck.schedulers.slurm import Slurm
from fabricheck.stress import work
from fabricheck.stress.state import StressDirectory
from fabricheck.stress.work import Worker

pytestmark = pytest.mark.integration

BLOCK = {"benchmark": "allreduce", "sizes": [64], "iterations": 1, "setting": {}}
DOWN = "Slurm reports down*"


class Bench:
    """A worker in job 17, whose blocks are none; what it ran, and what it submitted."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place(root / "reports" / "stress" / "s", scheduler="slurm", job="17")
        mixes = [{"first": 0, "count": 4, "pause": 0}]
        plan = {"blocks": [BLOCK] * 4, "nodes": 2, "options": [], "mixes": mixes}
        self.place.write_plan({**self.place.read_plan(), **plan})
        self.place.change(until=1e12)
        self.ran: list[tuple[int, int]] = []
        self.dead: dict[str, str] = {}
        self.submitted: list[dict[str, Any]] = []
        self.refuse = False
        self.states: dict[str, str] = {}
        monkeypatch.setenv("SLURM_JOB_ID", "17")
        monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
        monkeypatch.setattr("fabricheck.stress.work.signal.signal", lambda *_: None)
        monkeypatch.setattr(work, "settle", lambda *_, **__: 0)
        monkeypatch.setattr(work, "submit", self._submit)
        monkeypatch.setattr(Slurm, "known_states", lambda _: self.states)
        monkeypatch.setattr(Worker, "_block", lambda _, *which: self._block(*which))

    def _block(self, iteration: int, number: int) -> dict[str, str]:
        self.ran.append((iteration, number))
        if len(self.ran) > 12:
            self.place.stop_request.touch()
        return self.dead

    def _submit(self, place: StressDirectory, scheduler: Slurm, **how: Any) -> str:
        if self.refuse:
            raise FabricheckError("FC2403 expected an answer of sbatch, found: not allowed here")
        self.submitted.append(how)
        place.change(job="18", paused=how["paused"])
        return "18"

    def run(self) -> str:
        """Why it ended; nothing where another job goes on."""
        Worker(self.place).run()
        return self.place.state().why


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    return lambda seconds: monkeypatch.setattr(work, "length", lambda *_: seconds)


def test_a_turn_ends_with_its_iteration_and_another_job_goes_on(
    bench: Bench, turns: Callable[[float], None]
) -> None:
    turns(0.0)
    assert bench.run() == ""
    assert bench.ran == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert len(bench.submitted) == 1
    assert not bench.place.state().ended
    assert "event=stress_turn stress=s job=18" in (bench.place.reports / "events.log").read_text()


def test_where_no_job_may_follow_it_stays_and_the_time_ends_it(
    bench: Bench, turns: Callable[[float], None]
) -> None:
    turns(0.0)
    bench.refuse = True
    assert bench.run() == "a stop was asked for"
    assert len(bench.ran) == 13
    bench.place.stop_request.unlink()
    bench.place.change(ended=0.0, until=1.0, why="")
    assert bench.run() == "its time is over"


def test_a_node_that_dies_ends_the_turn_at_once_and_is_told(bench: Bench, tmp_path: Path) -> None:
    told = tmp_path / "told"
    plan = bench.place.read_plan()
    bench.place.write_plan({**plan, "on_bad_node": f'echo "$NODE $REASON" >{told}; exit 3'})
    bench.dead = {"n2": DOWN}
    # Another one died while it had no turn.
    bench.place.change(measured={"n1": 1.0, "n7": 1.0})
    bench.states = {"n1": "idle", "n7": "down*"}
    assert bench.run() == ""
    assert bench.ran == [(1, 0)]
    assert len(bench.submitted) == 1
    assert bench.place.state().dead == {"n2": DOWN, "n7": DOWN}
    assert told.read_text() == f"n7 {DOWN}\n"
    events = (bench.place.reports / "events.log").read_text()
    assert f'level=error event=node_left_out stress=s node=n2 why="{DOWN}"' in events
    assert "level=error event=on_bad_node stress=s node=n2 code=3" in events


def test_beside_a_run_it_gives_its_nodes_back(bench: Bench) -> None:
    with of_run(bench.place.reports, ""):
        assert bench.run() == ""
    assert bench.ran == []
    assert bench.submitted == [{"begin": 300.0, "paused": "a run measures in this checkout"}]
    # The next job finds none, and goes on.
    assert bench.run() == "a stop was asked for"
    assert bench.place.state().paused == ""
    assert len(bench.ran) == 13
