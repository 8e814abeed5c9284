"""What a site expects of its nodes: the partition's extra ``node_health``, and defaults."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabricheck.errors import FabricheckError
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
    """The expectations of a partition with these features and extras.

    Raises:
        FabricheckError: for a key of ``extras.node_health`` that is unknown or has no fitting
            value.
    """
    given = extras.get(EXTRA, {})
    if not isinstance(given, dict):
        raise _refusal(EXTRA, "a mapping", given)
    for key in given:
        if key not in KEYS:
            raise FabricheckError(
                f"expected a key of extras.{EXTRA} ({', '.join(KEYS)}), found {key!r}: use one of "
                "these (docs/node-health.md)"
            )
    devices = extras.get("ucx_net_devices", {})
    return Expectations(
        rdma="rdma" in features,
        rdma_ports=_names(devices.get("rdma", "")),
        interfaces=_names(devices.get("tcp", "")) + _names(devices.get("ipoib", "")),
        **{key: _read(key, value) for key, value in given.items()},
    )


def _names(devices: str) -> tuple[str, ...]:
    """The names in a value of UCX_NET_DEVICES; none where it is 'all'."""
    return () if devices == "all" else tuple(name for name in devices.split(",") if name)


def _read(key: str, value: Any) -> Any:
    read, form = KEYS[key]
    try:
        return read(value)
    except (TypeError, ValueError, AttributeError, FabricheckError):
        raise _refusal(f"{EXTRA}.{key}", form, value) from None


def _refusal(key: str, form: str, value: Any) -> FabricheckError:
    return FabricheckError(
        f"expected {form} as extras.{key} of the partition, found {value!r}: correct the site file"
    )


def _memlock(value: Any) -> int | None:
    return None if value == "unlimited" else _count(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(value)
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not 0 < float(value) < float("inf"):
        raise ValueError(value)
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _modes(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not set(value) <= {"always", "madvise", "never"}:
        raise ValueError(value)
    return tuple(value)


def _versions(value: Any) -> dict[str, str]:
    for version in value.values():
        version_numbers(_text(version))
    return {**_VERSIONS, **value}


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: ``4.1.4`` is newer than ``4.1``.

    Raises:
        ValueError: if it is not made of numbers and dots.
    """
    return tuple(int(part) for part in text.split("."))


KEYS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "versions": (_versions, "a mapping of programs to least versions in quotes, {ucx: '1.12'},"),
    "memlock": (_memlock, "'unlimited' or a number of bytes"),
    "transparent_hugepages": (_modes, "a list of always, madvise and never"),
    "hugepages": (
        lambda value: {parse_size(size): _count(number) for size, number in value.items()},
        "a mapping of page sizes to numbers, {2MiB: 1024},",
    ),
    "governor": (_text, "the name of a governor"),
    "numa_distance": (_count, "a whole number"),
    "mtu": (
        lambda value: {_text(name): _count(mtu) for name, mtu in value.items()},
        "a mapping of interfaces to bytes, {eth0: 9000},",
    ),
    "clock_skew": (_seconds, "a number of seconds"),
}
"""The keys of ``extras.node_health``: how each is read, and the form that is expected."""
