"""Provenance: on what and with what each session measured, as the record tells it.

Two records are one here: ``provenance.jsonl`` beside the perflogs, and the columns of the perflogs
themselves, which say it of single values. docs/perflog.md has both.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from fabricheck.history.series import SeriesKey

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

Case = tuple[str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Origin:
    """Nodes that are alike, and what ran on them in a session: a line of ``provenance.jsonl``.

    Attributes:
        time: when it was written, RFC 3339.
        session: which run of ReFrame.
        system: ReFrame's system.
        partition: ReFrame's partition.
        environment: ReFrame's environment.
        nodes: their names.
        machine: their facts, one for each of ``MACHINE``.
        software: facts of the environment on them, one for each of ``SOFTWARE``.
    """

    time: str
    session: str
    system: str
    partition: str
    environment: str
    nodes: tuple[str, ...]
    machine: Mapping[str, str]
    software: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What the perflog says of the values of a case in a session.

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
    """What the series of one case have in common: they are measured by the same jobs."""
    return (key.system, key.partition, key.environ, key.check, key.benchmark, key.placement)


class Provenance:
    """What is known of some sessions.

    Args:
        origins: lines of ``provenance.jsonl``, oldest first.
        runs: what the perflogs say, for session and case.
    """

    def __init__(
        self, origins: Iterable[Origin] = (), runs: Mapping[tuple[str, Case], Run] | None = None
    ) -> None:
        self._runs = runs or {}
        self._machines: dict[tuple[str, ...], dict[str, dict[str, str]]] = defaultdict(dict)
        self._software: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        for each in origins:
            place = (each.session, each.system, each.partition)
            for node in each.nodes:
                self._machines[place].setdefault(node, {}).update(_told(each.machine))
            self._software[(*place, each.environment)].update(_told(each.software))

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
