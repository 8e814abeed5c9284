"""What the history says of a system's nodes: which are slow, always or now and then."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np

from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.localise.lemons import Lemon, jobs_of, lemons
from fabricheck.localise.returning import Returning, returning
from fabricheck.schedulers import to_copy
from fabricheck.units import percent

DAYS: Final = 28
"""Days before the last night that are looked at."""


@dataclass(frozen=True, slots=True)
class NodeTrend:
    """The nodes of a system.

    Attributes:
        system: ReFrame's system.
        lemons: the nodes that are accused, most evidence first.
        nodes: how many nodes took part.
        returning: cases and nodes that were critical at first, again and again.
    """

    system: str
    lemons: Sequence[Lemon]
    nodes: int
    returning: Sequence[Returning] = ()

    @property
    def accuses(self) -> bool:
        """Whether a node is slow, or anything comes and goes."""
        return bool(self.lemons or self.returning)


def node_trend(history: History, system: str, newest: np.datetime64) -> NodeTrend:
    """What the last weeks say of a system's nodes.

    Args:
        history: the history.
        system: the system.
        newest: the last night.
    """
    last = newest.astype(datetime).replace(tzinfo=UTC)
    weeks = Selection(
        {"system": (system,)}, last - timedelta(days=DAYS), last + timedelta(seconds=1)
    )
    jobs = jobs_of(history.values(weeks))
    found = returning(history.cases(weeks))
    return NodeTrend(system, lemons(jobs), len(jobs.names), found)


def words(trend: NodeTrend) -> list[str]:
    """A line for each accused node, with the lines to copy below it; then what comes and goes."""
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
    return lines + [
        f"{trend.system}: {each.what} was critical at first and good in its second run "
        f"{each.nights} times of {each.of} since {str(each.since)[:10]}, all others "
        f"{each.elsewhere} of {each.of_others}: it comes and goes"
        for each in trend.returning
    ]


def as_json(trend: NodeTrend) -> dict[str, Any]:
    """The same as data."""
    return {
        "system": trend.system,
        "nodes": trend.nodes,
        "slow": [
            asdict(lemon) | {"nodes": list(lemon.nodes), "since": f"{lemon.since}Z"}
            for lemon in trend.lemons
        ],
        "returning": [asdict(each) | {"since": f"{each.since}Z"} for each in trend.returning],
    }
