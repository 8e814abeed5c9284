"""What a partition expects of its fabric, from the site file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from fabricheck.errors import FabricheckError
from fabricheck.fabric.bands import BANDS
from fabricheck.fabric.model import Bands

_NO_DEVICES = ("", "all")
_KEYS = ("mtu", "link_width", "least_events", "ignore", "bands")


@dataclass(frozen=True, slots=True)
class Limits:
    """What ports are held to.

    Attributes:
        devices: ports that must be there, as ``mlx5_0:1``; empty for whatever a node has, of which
            one port must be active.
        gid_index: the GID that programs use; ``None`` for any.
        rate: Gbit/s that a port must have; ``None`` for no expectation.
        width: lanes that a port must have.
        mtu: RDMA MTU in bytes that a port must have.
        least_events: fewer than this is never judged as a share of packets.
        ignore: counters that are not judged here.
        bands: warning and critical limits.
    """

    devices: tuple[str, ...] = ()
    gid_index: int | None = None
    rate: float | None = None
    width: int | None = None
    mtu: int | None = None
    least_events: int = 10
    ignore: frozenset[str] = frozenset()
    bands: Bands = field(default_factory=lambda: BANDS)


def read_limits(extras: Mapping[str, Any]) -> Limits:
    """The limits of a partition.

    Args:
        extras: the partition's extras: ``ucx_net_devices``, ``gid_index``, ``link_rate`` and
            ``fabric_health`` are read.

    Raises:
        FabricheckError: for a key that is not known or a value that makes no sense.
    """
    own = extras.get("fabric_health", {})
    if not isinstance(own, Mapping) or own.keys() - set(_KEYS):
        raise _refuse("fabric_health", f"a mapping with keys of {', '.join(_KEYS)}", own)
    devices = str(extras.get("ucx_net_devices", {}).get("rdma", ""))
    return Limits(
        devices=() if devices in _NO_DEVICES else tuple(map(_port, devices.split(","))),
        gid_index=_whole(extras, "gid_index", "gid_index"),
        rate=_positive(extras, "link_rate", "link_rate"),
        width=_whole(own, "link_width", "fabric_health.link_width"),
        mtu=_whole(own, "mtu", "fabric_health.mtu"),
        least_events=_whole(own, "least_events", "fabric_health.least_events") or 10,
        ignore=_names(own.get("ignore", [])),
        bands=_bands(own.get("bands", {})),
    )


def _port(name: str) -> str:
    """A device as UCX takes it; without a port it is the first one."""
    name = name.strip()
    return name if ":" in name else f"{name}:1"


def _whole(values: Mapping[str, Any], key: str, name: str) -> int | None:
    value = values.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise _refuse(name, "a whole number", value)


def _positive(values: Mapping[str, Any], key: str, name: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    raise _refuse(name, "a number of Gbit/s above 0", value)


def _names(names: Any) -> frozenset[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refuse("fabric_health.ignore", "a list of counters", names)
    return frozenset(names)


def _bands(own: Any) -> Bands:
    if not isinstance(own, Mapping) or own.keys() - BANDS.keys():
        raise _refuse("fabric_health.bands", f"bands of {', '.join(BANDS)}", own)
    bands = dict(BANDS)
    for name, pair in own.items():
        warning, critical = _pair(name, pair)
        bands[name] = replace(
            BANDS[name], warning=warning, critical=critical, source="the site file"
        )
    return MappingProxyType(bands)


def _pair(name: str, pair: Any) -> Sequence[float | None]:
    what = "[warning, critical], each a number or null, the warning not above the critical one"
    if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 - a pair
        raise _refuse(f"fabric_health.bands.{name}", what, pair)
    numbers = [limit for limit in pair if limit is not None]
    if any(isinstance(limit, bool) or not isinstance(limit, int | float) for limit in numbers):
        raise _refuse(f"fabric_health.bands.{name}", what, pair)
    if numbers != sorted(numbers):
        raise _refuse(f"fabric_health.bands.{name}", what, pair)
    return pair


def _refuse(name: str, expected: str, found: object) -> FabricheckError:
    return FabricheckError(
        f"expected {expected} as extras.{name} of the partition, found {found!r}: "
        "correct the site file (docs/fabric-health.md)"
    )
