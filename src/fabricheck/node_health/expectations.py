"""What a site expects of its nodes: the partition's extra ``node_health``, and defaults."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fabricheck.sites.extras import NodeHealthExtra, PartitionExtras
from fabricheck.transports import MPIS
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
    """

    rdma: bool = False
    rdma_ports: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    health: NodeHealthExtra = field(default_factory=NodeHealthExtra)

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
        rdma_ports=extras.ports.names("rdma"),
        interfaces=extras.ports.names("tcp"),
        health=extras.node_health,
    )


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: ``4.1.4`` is newer than ``4.1``.

    Raises:
        ValueError: if it is not made of numbers and dots.
    """
    return tuple(int(part) for part in text.split("."))
