"""Provenance: on what and with what each session measured, as the record tells it.

Lines of nodes say it of a session's nodes and environments, lines of cases of single ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabricheck.history.frame import CASE
from fabricheck.history.series import SeriesKey
from fabricheck.record.entries import Nodes, moment

UNTOLD: Final = "not available"
"""What stands for a fact that could not be read."""

NODES: Final = "nodes"
MACHINE: Final = (
    *("kernel", "kernel_options", "os", "bios", "microcode", "governor", "ofed", "rdma_core"),
    *("firmware", "link", "mtu"),
)
"""Facts of a node."""
SOFTWARE: Final = ("scheduler", "mpi", "ucx", "compiler", "spack", "program", "commit")
"""Facts of an environment on a partition."""
FIELDS: Final = (*MACHINE, *SOFTWARE[:-1], NODES, SOFTWARE[-1])
"""All facts, in the order in which an operator asks for them."""

Case = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
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


def alike(
    told: Mapping[str, Mapping[str, str]],
    nodes: Iterable[str],
    software: Mapping[str, str],
    **where: str,
) -> list[Nodes]:
    """What to record of the nodes of a job: those with the same facts make one entry.

    Args:
        told: what nodes have told of themselves; what they haven't is recorded as such.
        nodes: those that the job ran on.
        software: facts of the environment on them, those that are known.
        where: ``session``, ``system``, ``partition`` and ``environ``.
    """
    machines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in sorted({*told, *nodes}):
        machines[tuple(_facts(MACHINE, told.get(node, {})).values())].append(node)
    return [
        Nodes(
            time=moment(),
            nodes=tuple(names),
            machine=dict(zip(MACHINE, machine, strict=True)),
            software=_facts(SOFTWARE, software),
            **where,
        )
        for machine, names in machines.items()
    ]


def _facts(names: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    return {name: known.get(name) or UNTOLD for name in names}


def case_of(key: SeriesKey) -> Case:
    """The case of a series."""
    return tuple(getattr(key, name) for name in CASE)


def runs_of(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, Case], Run]:
    """What the record says of each case in each session.

    Args:
        rows: with the fields of ``CASE``, ``session``, and the columns that say with what a value
            was measured (``fabricheck.history.frame.PROVENANCE``).
    """
    found: dict[tuple[str, Case], Run] = {}
    for row in rows:
        place = row["session"], tuple(row[name] for name in CASE)
        software = {
            "mpi": row["mpi_version"],
            "ucx": row["ucx_version"],
            "program": f"{row['program']} {row['program_version']}".strip(),
            "commit": row["commit"],
        }
        nodes = {name.partition(".")[0] for name in row["node_list"].split(",") if name}
        before = found.get(place, Run((), {}))
        found[place] = Run(
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
        self, origins: Iterable[Nodes] = (), runs: Mapping[tuple[str, Case], Run] | None = None
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
