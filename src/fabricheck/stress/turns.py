"""Turns of a stress: each of its jobs gets the nodes that wait longest, and none that is dead."""

import math
import time
from collections.abc import Mapping
from typing import Any, Final

from fabricheck.schedulers.protocol import Scheduler
from fabricheck.stress.state import StressDirectory, StressState

_BRIEF: Final = 60.0


def submit(
    place: StressDirectory, scheduler: Scheduler, *, begin: float = 0.0, paused: str = ""
) -> str:
    """Submit the job of the next turn.

    Args:
        place: of the stress.
        scheduler: of its plan.
        begin: seconds before which it may not begin.
        paused: what it waits for meanwhile; empty for its nodes alone.

    Returns:
        The number of the job.

    Raises:
        FabricheckError: if the scheduler doesn't take it.
    """
    plan, state = place.read_plan(), place.state()
    states = scheduler.nodes_for(plan["options"])
    # What the scheduler called dead comes back with its word; a link is tried by nobody.
    back = {node for node in states if state.dead.get(node, "").startswith(scheduler.reports)}
    dead = {node: why for node, why in state.dead.items() if node not in back}
    gone = {*plan["exclude"], *dead}
    tried = {node: at for node, at in state.tried.items() if node in states} or state.tried
    behind = later(states, tried, gone, plan["nodes"], scheduler)
    left = state.until - time.time() if state.until else plan["seconds"]
    asked = {
        **plan,
        "exclude": sorted(gone | behind),
        "seconds": max(left, _BRIEF),
        "begin": begin,
    }
    job = scheduler.submit(place.job_name, place.path / "job.sh", place.log, asked)
    measured = {node: state.measured.get(node, 0.0) for node in states} or state.measured
    place.change(job=job, resumed=0.0, paused=paused, dead=dead, tried=tried, measured=measured)
    return job


def later(
    states: Mapping[str, str],
    tried: Mapping[str, float],
    gone: set[str],
    count: int,
    scheduler: Scheduler,
) -> set[str]:
    """The nodes whose turn comes later: all behind those that wait longest, enough of them free.

    The scheduler chooses among the others, so that a stress doesn't wait for one that is busy.

    Args:
        states: the scheduler's word for each node of the partition.
        tried: Unix time at which a block last ran on each.
        gone: nodes that are left out anyway.
        count: how many a job needs.
        scheduler: whose words these are.
    """
    order = sorted(states.keys() - gone, key=lambda node: (tried.get(node, 0.0), len(node), node))
    for place, node in enumerate(order):
        count -= scheduler.is_free(states[node])
        if not count:
            return {*order[place + 1 :]}
    return set()


def length(plan: Mapping[str, Any], state: StressState) -> float:
    """Seconds of a turn, so that every node has one in time; endless where all have one at once."""
    nodes, every = len(due(plan, state)), float(plan["every"])
    return every / math.ceil(nodes / plan["nodes"]) if nodes > plan["nodes"] else math.inf


def due(plan: Mapping[str, Any], state: StressState) -> dict[str, float]:
    """Unix time by which each node that is not left out must be measured again."""
    gone = {*plan["exclude"], *state.dead}
    return {
        node: max(at, state.started) + plan["every"]
        for node, at in state.measured.items()
        if node not in gone
    }


def coverage(plan: Mapping[str, Any], state: StressState, now: float) -> dict[str, Any]:
    """How many nodes of the partition were measured in time, and when each was that was not."""
    nodes = due(plan, state)
    in_time = [node for node in nodes if state.measured[node] > now - plan["every"]]
    return {
        "every": plan["every"],
        "nodes": len(nodes),
        "measured": len(in_time),
        "not_measured": {node: state.measured[node] for node in nodes if node not in in_time},
        "late": sorted(node for node, at in nodes.items() if at < now),
    }
