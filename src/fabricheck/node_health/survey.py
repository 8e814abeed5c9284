"""What is judged and what comes of it: what a site expects, a survey of nodes, answers, lines."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial

from fabricheck.judge.levels import Level
from fabricheck.node_health.alike import Census, census, read_manifest
from fabricheck.node_health.clocks import Skew
from fabricheck.node_health.facts import Facts
from fabricheck.nodes.cards import Cards
from fabricheck.nodes.names import fold
from fabricheck.provenance import folders
from fabricheck.sites.extras import NodeHealthExtra, PartitionExtras
from fabricheck.transports.families import MPIS
from fabricheck.units import parse_size

# docs/SETUP.md of the MPI AI Cluster Benchmark.
_VERSIONS = {"ucx": "1.12", "osu": "7.0"}


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the nodes of a partition must offer.

    Attributes:
        rdma: whether the partition offers RDMA at all.
        rdma_ports: the ports that the site names, such as ``mlx5_0:1``; empty for any.
        interfaces: the interfaces that the site names for TCP.
        health: what the site file says of them.
        manifest: the facts that their cards and ports must have.
    """

    rdma: bool = False
    rdma_ports: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    health: NodeHealthExtra = field(default_factory=NodeHealthExtra)
    manifest: Cards = field(default_factory=dict)

    @property
    def memlock(self) -> int | None:
        """Least memory that a process may lock, in bytes; ``None`` for unlimited."""
        return None if isinstance(self.health.memlock, str) else self.health.memlock

    @property
    def versions(self) -> Mapping[str, str]:
        """The least version of each program."""
        mpis = {name: mpi.least for name, mpi in MPIS.items() if mpi.least}
        return {**mpis, **_VERSIONS, **self.health.versions}

    @property
    def hugepages(self) -> Mapping[int, int]:
        """Least number of reserved pages for each size in bytes."""
        return {parse_size(size): count for size, count in self.health.hugepages.items()}


def read_expectations(features: Collection[str], extras: PartitionExtras) -> Expectations:
    """The expectations of a partition with these features and extras of a site file."""
    return Expectations(
        rdma="rdma" in features,
        rdma_ports=extras.given_ports.names("rdma"),
        interfaces=extras.given_ports.names("tcp"),
        health=extras.node_health,
        manifest=_manifest(extras.node_health.manifest),
    )


def _manifest(name: str) -> Cards:
    if not name:
        return {}
    paths = [folder / name for folder in folders("sites")]
    return read_manifest(next((path for path in paths if path.is_file()), paths[0]))


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: ``4.1.4`` is newer than ``4.1``.

    Raises:
        ValueError: if it is not made of numbers and dots.
    """
    return tuple(int(part) for part in text.split("."))


class Outcome(Enum):
    """How a node stands to a prerequisite."""

    MET = "met"
    UNMET = "not met"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Answer:
    """A node's standing to a prerequisite, and in words what was found and what expected."""

    outcome: Outcome
    words: str


met, unmet, unknown, not_applicable = (partial(Answer, outcome) for outcome in Outcome)
"""What a rule answers, each with its words: a node that has it, lacks it, doesn't tell, or needs
no such thing."""


@dataclass(frozen=True)
class Survey:
    """The nodes that answered, and what is known of them together.

    Attributes:
        nodes: the facts of each.
        expected: what the site expects.
        launcher: what launched the probe; empty where nothing is launched on another node.
        family: the MPI family of the environment; empty without MPI.
        skews: how far each node's clock is from the others; empty where it was not compared.
    """

    nodes: tuple[Facts, ...]
    expected: Expectations
    launcher: str = ""
    family: str = ""
    skews: Mapping[str, Skew] = field(default_factory=dict)

    @cached_property
    def census(self) -> Census:
        """How often each fact of cards and ports was told."""
        return census(self.nodes)


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """One prerequisite.

    Attributes:
        name: short name, shown on its line.
        expected: what is expected, in words; braces hold the key of ``extras.node_health``.
        source: why it matters, or who asks for it.
        level: the level of a node that doesn't meet it.
        judge: a node's standing.
        applies: whether the rule belongs to a survey at all.
    """

    name: str
    expected: str
    source: str
    level: Level
    judge: Callable[[Facts, Survey], Answer]
    applies: Callable[[Survey], bool]


@dataclass(frozen=True, slots=True)
class Line:
    """What one prerequisite looks like on some nodes.

    Attributes:
        rule: name of the rule.
        level: ``None`` where the rule is not applicable, which is neither good nor bad.
        words: what was found.
        nodes: the nodes of which that is so.
    """

    rule: str
    level: Level | None
    words: str
    nodes: tuple[str, ...]


def differing(node: Facts, survey: Survey, value: Callable[[Facts], Hashable]) -> str:
    """What the other nodes have, where this node is not of the majority; empty if it is.

    Where no value has a majority of its own, all of them differ: two nodes can't tell who is right.
    """
    counts = Counter(value(each) for each in survey.nodes).most_common()
    if value(node) == counts[0][0] and (len(counts) == 1 or counts[0][1] > counts[1][1]):
        return ""
    others: dict[Hashable, list[str]] = {}
    for each in survey.nodes:
        if value(each) != value(node):
            others.setdefault(value(each), []).append(each.node)
    return "; ".join(f"{found or 'none'} on {fold(names)}" for found, names in others.items())
