"""What a partition expects of its fabric, from the site file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import BANDS, Bands
from fabricheck.sites.extras import FabricHealthExtra, PartitionExtras


@dataclass(frozen=True, slots=True)
class Limits:
    """What ports are held to.

    Attributes:
        devices: ports that must be there, as ``mlx5_0:1``; empty for whatever a node has, of which
            one port must be active.
        gid_index: the GID that programs use; ``None`` for any.
        priority: in which RoCE must leave; ``None`` for any.
        rate: Gbit/s that a port must have; ``None`` for no expectation.
        width: lanes that a port must have.
        mtu: RDMA MTU in bytes that a port must have.
        least_events: fewer than this is never judged as a share of packets.
        ignore: counters that are not judged here.
        bands: warning and critical limits.
    """

    devices: tuple[str, ...] = ()
    gid_index: int | None = None
    priority: int | None = None
    rate: float | None = None
    width: int | None = None
    mtu: int | None = None
    least_events: int = FabricHealthExtra().least_events
    ignore: frozenset[str] = frozenset()
    bands: Bands = field(default_factory=lambda: BANDS)


def read_limits(extras: PartitionExtras) -> Limits:
    """The limits of a partition.

    Args:
        extras: ``ucx_net_devices``, ``gid_index``, ``service_level``, ``link_rate`` and
            ``fabric_health`` are read.

    Raises:
        FabricheckError: for a warning limit above its critical one.
    """
    own = extras.fabric_health
    return Limits(
        # As UCX takes a device without a port: its first one.
        devices=tuple(f"{name}:{port or 1}" for name, port in extras.given_ports.named("rdma")),
        gid_index=extras.gid_index,
        priority=extras.service_level,
        rate=extras.link_rate,
        width=own.link_width,
        mtu=own.mtu,
        least_events=own.least_events,
        ignore=frozenset(own.ignore),
        bands=_bands(own.bands),
    )


def _bands(own: Mapping[str, Sequence[float | None]]) -> Bands:
    bands = dict(BANDS)
    for name, pair in own.items():
        numbers = [limit for limit in pair if limit is not None]
        if numbers != sorted(numbers):
            raise FabricheckError(
                "FC1401 expected the warning not above the critical limit as "
                f"extras.fabric_health.bands.{name} of the partition, found {list(pair)}: correct "
                "the site file (docs/reference/fabric-health.md)"
            )
        warning, critical = pair
        bands[name] = replace(
            BANDS[name], warning=warning, critical=critical, source="the site file"
        )
    return bands
