"""The benchmarks of ``rdma_stream``: the topologies of "MPI to test RoCE on SEREN cluster".

A topology repeats a unit of one receiver with one transmitter or two. The rule that puts ranks on
nodes is always the same, rank by rank over the nodes, so what differs is how many nodes a unit has.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabricheck.measures.benchmark import ACCEPTANCE, NIGHTLY, Family, ProgramBenchmark
from fabricheck.measures.metrics import Metric
from fabricheck.units import KIB

PROGRAM: Final = "rdma_stream"

PROGRAMS: Final = ("rdma_stream",)
FAMILIES: Final = (Family("stream", "own program", ("RdmaStream",), opens_ports=True),)

_DATAGRAM = 8 * KIB
_MESSAGE = 64 * KIB
"""The message of SEREN."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Who streams to whom, and from where.

    Attributes:
        name: T1 to T7, in the order of the source.
        title: in words.
        transmitters: of each receiver; its streams share the receiver's link.
        nodes: of a unit: one node, or one for each of its ranks.
        least: the fewest units.
        most: the most units.
    """

    name: str
    title: str
    transmitters: int
    nodes: int
    least: int
    most: float = math.inf

    def units_on(self, num_nodes: int) -> int | None:
        """How many units so many nodes have, ``None`` where they have no whole number of them.

        Two transmitters of one receiver may share a node: their streams meet on its link already.
        """
        if num_nodes == self.nodes - 1 > 1 and self.most == 1:
            return 1
        units, rest = divmod(num_nodes, self.nodes)
        return units if self.has(units) and not rest else None

    def has(self, units: int) -> bool:
        """Whether it may repeat its unit so many times."""
        return self.least <= units <= self.most

    def places(self, num_nodes: int) -> list[int]:
        """The node of each rank, receivers first.

        >>> TOPOLOGIES["T5"].places(2), TOPOLOGIES["T6"].places(2)
        ([0, 1, 0, 1, 0, 1], [0, 1, 1])
        """
        units = self.units_on(num_nodes) or 0
        ranks = range(units * (1 + self.transmitters))
        return [
            rank % num_nodes if num_nodes % self.nodes == 0 else min(rank, num_nodes - 1)
            for rank in ranks
        ]


TOPOLOGIES: Mapping[str, Topology] = {
    each.name: each
    for each in (
        Topology("T1", "a pair on each node", 1, 1, least=1),
        Topology("T2", "a pair between two nodes", 1, 2, least=1, most=1),
        Topology("T3", "several pairs between nodes", 1, 2, least=2),
        Topology("T4", "two transmitters and their receiver on a node", 2, 1, least=1, most=1),
        Topology("T5", "the same on each of several nodes", 2, 1, least=2),
        Topology("T6", "two transmitters and their receiver apart", 2, 3, least=1, most=1),
        Topology("T7", "several such three", 2, 3, least=2),
    )
}


def topology_of(places: list[tuple[str, str]]) -> Topology | None:
    """The topology of streams that ran, ``None`` for none of the seven.

    Args:
        places: host of the receiver, with its rank behind a colon, and host of the transmitter, of
            each stream.
    """
    receivers = [receiver for receiver, _ in places]
    apart = {receiver.rpartition(":")[0] != transmitter for receiver, transmitter in places}
    counts = {receivers.count(receiver) for receiver in receivers}
    if len(apart) != 1 or len(counts) != 1:
        return None
    for each in TOPOLOGIES.values():
        fits = (each.transmitters, each.nodes > 1) == (min(counts), min(apart))
        if fits and each.has(len(set(receivers))):
            return each
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams(ProgramBenchmark):
    """A topology with a way for the messages.

    Attributes:
        method: ``rdma``, ``mpi`` or ``udp``.
        topology: who streams to whom.
    """

    method: str
    topology: Topology

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """The mean rate of a stream and that of the slowest, and the messages lost over all."""
        bandwidths = tuple((Metric.BANDWIDTH, each) for each in self.statistics)
        return (*bandwidths, (Metric.ERROR_RATIO, "avg"))

    @property
    def validates(self) -> bool:
        """No: to look at each byte slows the receiver down; the numbers are looked at."""
        return False


def benchmark_name(method: str, topology: Topology) -> str:
    """Name in the registry of a topology with a way for the messages."""
    return f"{method}_stream_{topology.name.lower()}"


_WAYS = {"rdma": "verbs", "mpi": "MPI", "udp": "UDP"}
# Those that use the link between nodes, with one sender and with two.
_EVERY_NIGHT = {"rdma": ("T2", "T6"), "mpi": ("T2",), "udp": ("T2", "T6")}


def _streams(method: str, topology: Topology) -> Streams:
    size = _DATAGRAM if method == "udp" else _MESSAGE
    return Streams(
        name=benchmark_name(method, topology),
        family="stream",
        title=f"Messages over {_WAYS[method]}: {topology.title}",
        metrics=(Metric.BANDWIDTH, Metric.ERROR_RATIO),
        statistics=("avg", "min"),
        min_size=size,
        max_size=size,
        program=PROGRAM,
        options=("--method", method, "--msg-size", str(size)),
        transports=("rc",) if method == "rdma" else ("tcp",),
        runs=NIGHTLY if topology.name in _EVERY_NIGHT[method] else ACCEPTANCE,
        method=method,
        topology=topology,
    )


BENCHMARKS: Mapping[str, Streams] = {
    each.name: each
    for each in (
        *(_streams("rdma", topology) for topology in TOPOLOGIES.values()),
        # Over sockets a pair inside a node says nothing of the fabric.
        *(
            _streams(method, topology)
            for method in ("mpi", "udp")
            for topology in TOPOLOGIES.values()
            if topology.nodes > 1
        ),
    )
}
