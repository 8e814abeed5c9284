"""What a site expects of its nodes: the partition's extra ``node_health``, and defaults."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabricheck.units import parse_size

EXTRA = "node_health"

# docs/SETUP.md of the MPI AI Cluster Benchmark: Open MPI 4, UCX 1.12 and OSU 7, or newer.
_VERSIONS = {"openmpi": "4.0", "ucx": "1.12", "osu": "7.0"}
_STEP_OF_NTP = 0.128


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the nodes of a partition must offer.

    Attributes:
        rdma: whether the partition offers RDMA at all.
        rdma_ports: the ports that the site names, such as ``mlx5_0:1``; empty for any.
        interfaces: the interfaces that the site names for TCP.
        versions: the least version of each program.
        memlock: least memory that a process may lock, in bytes; ``None`` for unlimited.
        transparent_hugepages: modes that are welcome.
        hugepages: least number of reserved pages for each size in bytes.
        governor: frequency governor.
        numa_distance: greatest distance between the job's CPUs and the card, in the kernel's units.
        mtu: MTU of interfaces in bytes, for those whose value matters and not only that all agree.
        clock_skew: how far a clock may be from the others, in seconds.
    """

    rdma: bool = False
    rdma_ports: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: dict(_VERSIONS))
    memlock: int | None = None
    transparent_hugepages: tuple[str, ...] = ("always", "madvise")
    hugepages: Mapping[int, int] = field(default_factory=dict)
    governor: str = "performance"
    numa_distance: int = 10
    mtu: Mapping[str, int] = field(default_factory=dict)
    clock_skew: float = _STEP_OF_NTP


def read_expectations(features: Collection[str], extras: Mapping[str, Any]) -> Expectations:
    """The expectations of a partition with these features and extras of a site file."""
    given = dict(extras.get(EXTRA, {}))
    if given.get("memlock") == "unlimited":
        given["memlock"] = None
    if "versions" in given:
        given["versions"] = {**_VERSIONS, **given["versions"]}
    if "hugepages" in given:
        given["hugepages"] = {parse_size(size): n for size, n in given["hugepages"].items()}
    if "transparent_hugepages" in given:
        given["transparent_hugepages"] = tuple(given["transparent_hugepages"])
    devices = extras.get("ucx_net_devices", {})
    return Expectations(
        rdma="rdma" in features,
        rdma_ports=_names(devices.get("rdma", "")),
        interfaces=_names(devices.get("tcp", "")),
        **given,
    )


def _names(devices: str) -> tuple[str, ...]:
    """The names in a value of UCX_NET_DEVICES; none where it is 'all'."""
    return () if devices == "all" else tuple(name for name in devices.split(",") if name)


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: ``4.1.4`` is newer than ``4.1``.

    Raises:
        ValueError: if it is not made of numbers and dots.
    """
    return tuple(int(part) for part in text.split("."))
