"""Provenance: on what and with what each session measured, as the record tells it.

Lines of nodes say it of a session's nodes and environments, lines of cases of single ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fabricheck.history.frame import CASE
from fabricheck.history.series import SeriesKey
from fabricheck.record.entries import Nodes
from fabricheck.record.facts import UNTOLD

Case = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunProvenance:
    """What the record says of a case in a session.

    Attributes:
        nodes: the nodes that it ran on; empty where the record does not say.
        software: facts of ``SOFTWARE``, those that are known.
    """

    nodes: tuple[str, ...]
    software: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """On what and with what a series was measured in a session; only what is known.

    Attributes:
        nodes: names of the nodes.
        machines: for each node that told some, its facts.
        software: facts of the software.
    """

    nodes: frozenset[str]
    machines: Mapping[str, Mapping[str, str]]
    software: Mapping[str, str]


def case_of(key: SeriesKey) -> Case:
    """The case of a series."""
    return tuple(getattr(key, name) for name in CASE)


def runs_of(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, Case], RunProvenance]:
    """What the record says of each case in each session.

    Args:
        rows: with the fields of ``CASE``, ``session``, and the columns that say with what a value
            was measured (``fabricheck.history.frame.PROVENANCE``).
    """
    found: dict[tuple[str, Case], RunProvenance] = {}
    for row in rows:
        place = row["session"], tuple(row[name] for name in CASE)
        software = {
            "mpi": row["mpi_version"],
            "ucx": row["ucx_version"],
            "program": f"{row['program']} {row['program_version']}".strip(),
            "commit": row["commit"],
        }
        nodes = {name.partition(".")[0] for name in row["node_list"].split(",") if name}
        before = found.get(place, RunProvenance((), {}))
        found[place] = RunProvenance(
            tuple(sorted(nodes.union(before.nodes))), {**before.software, **_told(software)}
        )
    return found


class Provenance:
    """What is known of some sessions.

    Args:
        origins: facts of nodes and their software, oldest first.
        runs: what the cases say, for session and case.
    """

    def __init__(
        self,
        origins: Iterable[Nodes] = (),
        runs: Mapping[tuple[str, Case], RunProvenance] | None = None,
    ) -> None:
        self._runs = runs or {}
        self._machines: dict[tuple[str, ...], dict[str, dict[str, str]]] = defaultdict(dict)
        self._software: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        for each in origins:
            place = (each.session, each.system, each.partition)
            for node in (name.partition(".")[0] for name in each.nodes):
                self._machines[place].setdefault(node, {}).update(_told(each.machine))
            self._software[(*place, each.environ)].update(_told(each.software))

    def of(self, key: SeriesKey, session: str) -> Circumstances:
        """What is known of a series in a session; empty where it is nothing."""
        place = (session, key.system, key.partition)
        run = self._runs.get((session, case_of(key)))
        machines = self._machines.get(place, {})
        # Without a word on where it ran, it may have been any node of the partition.
        nodes = frozenset(run.nodes if run and run.nodes else machines)
        return Circumstances(
            nodes,
            {node: machines[node] for node in nodes if node in machines},
            {**self._software.get((*place, key.environ), {}), **(run.software if run else {})},
        )


def _told(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if value and value != UNTOLD}
