"""Turns: every node of the partition gets blocks in time, and none that is dead."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.refusals import refused
from tests.stress.made import BEGIN, block, place

from fabricheck import events
from fabricheck.locks import BusyError, held, of_block, of_run
from fabricheck.schedulers.protocol import Scheduler
from fabricheck.schedulers.slurm import SLURM
from fabricheck.stress import judged, turns
from fabricheck.stress.mix import following, mix_of, read_mixes
from fabricheck.stress.state import StressState, dead_nodes
from fabricheck.stress.turns import coverage, due, later, length

NODES = [f"n{each}" for each in range(1, 9)]
IDLE = dict.fromkeys(NODES, "idle")
PLAN = {"nodes": 2, "every": 3600.0, "exclude": []}


class Slurm(Scheduler):
    """Takes jobs, and gives each the first free nodes that it may have."""

    def __init__(self, states: Mapping[str, str]) -> None:
        super().__init__(name="Slurm")
        object.__setattr__(self, "states", dict(states))
        object.__setattr__(self, "asked", [])

    def nodes_for(self, options: Any) -> dict[str, str]:
        states: dict[str, str] = self.states  # type: ignore[attr-defined]
        return {node: each for node, each in states.items() if not SLURM.is_silent(each)}

    def is_free(self, state: str) -> bool:
        return SLURM.is_free(state)

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        self.asked.append(plan)  # type: ignore[attr-defined]
        return str(len(self.asked))  # type: ignore[attr-defined]


def test_every_node_has_a_turn_before_one_has_a_second(tmp_path: Path) -> None:
    made, scheduler = place(tmp_path / "s", scheduler="slurm"), Slurm(IDLE)
    plan = {**made.read_plan(), "nodes": 2, "options": []}
    made.write_plan(plan)
    ran = []
    for turn in range(8):
        turns.submit(made, scheduler)
        left_out = scheduler.asked[-1]["exclude"]  # type: ignore[attr-defined]
        chosen = [node for node in NODES if node not in left_out]
        assert len(chosen) == 2
        ran += chosen
        made.change(tried={**made.state().tried, **dict.fromkeys(chosen, BEGIN + turn)})
    assert sorted(ran) == sorted(NODES * 2)
    assert sorted(ran[:8]) == NODES


def test_a_stress_waits_for_no_node_that_is_busy() -> None:
    states = IDLE | {"n1": "allocated", "n2": "mixed"}
    left_out = later(states, {}, set(), 2, SLURM)
    # Any two of the four may come.
    assert left_out == {"n5", "n6", "n7", "n8"}
    # Where there are too few, none has to wait for its turn.
    assert later(dict.fromkeys(NODES, "allocated"), {}, set(), 2, SLURM) == set()


def test_a_dead_node_comes_back_with_the_scheduler_and_a_dead_link_does_not(tmp_path: Path) -> None:
    made = place(tmp_path / "s", scheduler="slurm")
    plan = {**made.read_plan(), "nodes": 2, "options": [], "exclude": ["n8"]}
    made.write_plan(plan)
    link = "link down on n4 eth0: the interface is down"
    made.change(dead={"n3": "Slurm reports down*", "n4": link})
    scheduler = Slurm(IDLE | {"n3": "down*"})
    turns.submit(made, scheduler)
    assert {"n3", "n4", "n8"} <= {*scheduler.asked[-1]["exclude"]}  # type: ignore[attr-defined]
    assert due(plan, made.state()).keys() == {"n1", "n2", "n5", "n6", "n7"}
    scheduler.states["n3"] = "idle"  # type: ignore[attr-defined]
    turns.submit(made, scheduler)
    assert made.state().dead == {"n4": link}


def test_coverage_names_who_was_not_measured_and_who_is_late() -> None:
    measured = dict.fromkeys(NODES, BEGIN + 5000.0) | {"n1": 0.0, "n2": BEGIN + 1000.0}
    state = StressState(session="s", started=BEGIN, measured=measured)
    assert length(PLAN, state) == 900
    found = coverage(PLAN, state, BEGIN + 5000.0)
    assert (found["nodes"], found["measured"], found["late"]) == (8, 6, ["n1", "n2"])
    assert found["not_measured"] == {"n1": 0.0, "n2": BEGIN + 1000.0}
    # In the first hours nobody is late: a stress begins with nodes that it never saw.
    assert coverage(PLAN, replace(state, started=BEGIN + 4000.0), BEGIN + 5000.0)["late"] == []
    # All at once have no turns.
    assert length(PLAN | {"nodes": 8}, state) == math.inf


def test_blocks_and_runs_never_share_the_fabric(tmp_path: Path) -> None:
    late = of_run(tmp_path, "", patience=0.0, blocks=0.0)
    with of_block(tmp_path), of_block(tmp_path), pytest.raises(BusyError), late:
        pass
    with of_run(tmp_path, ""), pytest.raises(BusyError), of_block(tmp_path):
        pass
    # A block that waits for its turn keeps no run out, and a run that waits lets no block begin.
    with of_block(tmp_path), of_run_waiting(tmp_path), pytest.raises(BusyError), of_block(tmp_path):
        pass


def of_run_waiting(reports: Path) -> Any:
    """What a run holds as long as it waits for blocks."""
    return held(reports / ".lock")


def test_a_mix_of_the_hour_and_what_follows_it() -> None:
    mixes, hours = read_mixes({"20-06": "seed", "06-20": "once"})
    assert [each.name for each in mixes] == ["seed", "once"]
    assert [hours[each] for each in (20, 23, 0, 5, 6, 19)] == [0, 0, 0, 0, 1, 1]
    assert read_mixes("seed")[1] == [0] * 24
    with refused("FC3504", "found 0 for hour 6"):
        read_mixes({"20-06": "seed", "07-20": "once"})
    with refused("FC3504", "found 2 for hour 6"):
        read_mixes({"20-07": "seed", "06-20": "once"})
    plan = {
        "mixes": [{"first": 0, "count": 9}, {"first": 9, "count": 5}],
        "hours": [1] * 24,
    }
    assert mix_of(plan, 0)["first"] == 9
    # One that was begun comes to its end, whatever the hour.
    assert mix_of(plan, 3)["first"] == 0
    assert mix_of(plan, 10)["first"] == 9
    assert following([block("2.9")], plan["mixes"]) == (3, 0)
    assert following([block("2.3")], plan["mixes"]) == (2, 3)
    assert following([block("2.14")], plan["mixes"]) == (3, 0)
    assert following([], plan["mixes"]) == (1, 0)


def test_an_interface_of_sockets_without_a_link_is_a_dead_link(tmp_path: Path) -> None:
    for node, told in (("n4", "lowerlayerdown"), ("n5", "up"), ("n6", "unknown")):
        text = f"told before {node} 12.0\nsys/class/net/eth0/operstate:{told}\nend\n"
        # What begins and does not end tells nothing of them any more.
        text += f"told start {node} 13.0\nend\n"
        (tmp_path / f"node.{node}").write_text(text)
    # One that is written just now is no answer yet.
    (tmp_path / "node.n7").write_text("told bef")
    causes = [str(each) for each in judged._interfaces_down(tmp_path, ("eth0",))]
    (cause,) = causes
    assert cause.startswith("link down on n4 eth0: the interface is lowerlayerdown")
    assert dead_nodes((), (), SLURM, {}, causes) == {"n4": cause}
    assert not list(judged._interfaces_down(tmp_path, ()))


def test_an_event_is_one_line_of_logfmt(tmp_path: Path) -> None:
    events.emit("node_left_out", tmp_path, level="error", node="n4", why='a "link"\nis down', of="")
    (line,) = (tmp_path / "events.log").read_text().splitlines()
    time, *rest = line.split(" ", 3)
    assert time.startswith("time=20")
    assert rest[:2] == ["level=error", "event=node_left_out"]
    node, why = rest[2].split(" ", 1)
    assert node == "node=n4"
    assert json.loads(why.removeprefix("why=")) == 'a "link"\nis down'
    # What can't be written stops no work.
    events.emit("x", tmp_path / "nowhere")
