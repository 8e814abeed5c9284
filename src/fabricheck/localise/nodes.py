"""What the history says of a system's nodes: which are slow, and which nothing ran on lately."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np

from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.localise.lemons import Jobs, Lemon, jobs_of, lemons
from fabricheck.schedulers import to_copy
from fabricheck.units import percent

DAYS: Final = 28
"""Days before the last night that are looked at."""

_NAMED: Final = 8
"""Nodes that a line names before the rest is counted."""


@dataclass(frozen=True, slots=True)
class NodeTrend:
    """The nodes of a system.

    Attributes:
        system: ReFrame's system.
        lemons: the nodes that are accused, most evidence first.
        unseen: nodes on which nothing was measured for too long, and when something last was.
        nodes: how many nodes took part.
    """

    system: str
    lemons: Sequence[Lemon]
    unseen: Sequence[tuple[str, np.datetime64]]
    nodes: int


def node_trend(
    history: History, system: str, newest: np.datetime64, silent_days: float
) -> NodeTrend:
    """What the last weeks say of a system's nodes.

    Args:
        history: the history.
        system: the system.
        newest: the last night.
        silent_days: a node without a value for so many days is unseen.
    """
    last = newest.astype(datetime).replace(tzinfo=UTC)
    weeks = Selection(
        {"system": (system,)}, last - timedelta(days=DAYS), last + timedelta(seconds=1)
    )
    jobs = jobs_of(history.values(weeks))
    silent = newest - np.timedelta64(int(silent_days * 86400), "s")
    return NodeTrend(system, lemons(jobs), _unseen(jobs, silent), len(jobs.names))


def _unseen(jobs: Jobs, silent: np.datetime64) -> list[tuple[str, np.datetime64]]:
    last = (
        (name, jobs.times[jobs.nights[taken].max()])
        for name, taken in zip(jobs.names, jobs.members.T, strict=True)
    )
    return [(name, time) for name, time in last if time < silent]


def words(trend: NodeTrend) -> list[str]:
    """A line for each accused node, with the lines to copy below it, and one for those unseen."""
    lines = []
    for lemon in trend.lemons:
        names = " or ".join(lemon.nodes)
        lines += [
            f"{trend.system}: jobs with {names} are slower by {percent(lemon.slowdown)[1:]} since "
            f"{str(lemon.since)[:10]}: {lemon.slow} of {lemon.jobs} with it in {lemon.nights} "
            f"nights, {lemon.others_slow} of {lemon.others} without it",
            *(
                f"    {line}"
                for line in to_copy(lemon.nodes, f"slow since {str(lemon.since)[:10]}")
            ),
        ]
        if len(lemon.nodes) > 1:
            lines.append("    no job had one without the other: run a case that has, to tell which")
    if trend.unseen:
        named = ", ".join(f"{name} ({str(time)[:10]})" for name, time in trend.unseen[:_NAMED])
        rest = len(trend.unseen) - _NAMED
        lines.append(
            f"{trend.system}: nothing was measured lately on {named}"
            + (f" and {rest} more: see --json" if rest > 0 else "")
        )
    return lines


def as_json(trend: NodeTrend) -> dict[str, Any]:
    """The same as data."""
    return {
        "system": trend.system,
        "nodes": trend.nodes,
        "slow": [
            asdict(lemon) | {"nodes": list(lemon.nodes), "since": f"{lemon.since}Z"}
            for lemon in trend.lemons
        ],
        "unseen": {name: f"{time}Z" for name, time in trend.unseen},
    }
