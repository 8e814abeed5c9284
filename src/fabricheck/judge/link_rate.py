"""What a link can carry at most, and whether a measured bandwidth uses it.

Each packet of a message carries headers beside its payload, so a link never delivers its rate as
payload. The ceiling counts only what every packet must have: a value above it can't be true. Larger
headers (RETH of a write's first packet, IPv6, VLAN tags) and acknowledgements only lower it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.sites.extras import PartitionExtras
from fabricheck.units import amount, format_size, share

_MB_OF_GIGABIT = 125

# InfiniBand Architecture Specification, volume 1: base and datagram extended transport headers and
# the two CRCs (9.1), local route header (7.7). RoCEv2 (annex A17) has IP and UDP instead of LRH and
# VCRC. Ethernet (IEEE 802.3): preamble, MAC header, check sequence, and the gap between packets.
_BTH, _DETH, _ICRC = 12, 8, 4
_LRH, _VCRC = 8, 2
_IPV4, _UDP = 20, 8
_ETHERNET = 8 + 14 + 4 + 12

_FILLS_LINK = 64 << 10


class Link(StrEnum):
    """How perftest names the link layers."""

    ETHERNET = "Ethernet"
    INFINIBAND = "IB"


@dataclass(frozen=True, slots=True)
class Rate:
    """What a link should carry.

    Attributes:
        gigabits: the link's rate in Gbit/s, as its port tells it.
        warning: share of the ceiling below which a bandwidth is a warning.
        critical: share below which it is critical.
    """

    gigabits: float
    warning: float
    critical: float


def read_rate(extras: PartitionExtras) -> Rate | None:
    """The rate of a partition's links, if its extras give one.

    Args:
        extras: ``link_rate`` in Gbit/s, and ``link_shares`` with ``warning`` and ``critical``.

    Raises:
        FabricheckError: for shares that make no sense.
    """
    if extras.link_rate is None:
        return None
    warning, critical = extras.link_shares.warning, extras.link_shares.critical
    if not 0 <= critical <= warning <= 1:
        raise FabricheckError(
            "FC0802 expected link_shares with 0 <= critical <= warning <= 1, found warning "
            f"{warning}, critical {critical}: correct the site file"
        )
    return Rate(extras.link_rate, warning, critical)


def headers(link: Link, *, datagram: bool) -> int:
    """Bytes that each packet of a link has at least beside its payload."""
    transport = _BTH + _ICRC + (_DETH if datagram else 0)
    if link is Link.INFINIBAND:
        return transport + _LRH + _VCRC
    return transport + _IPV4 + _UDP + _ETHERNET


def ceiling(
    gigabits: float, size: int, mtu: int, link: Link, *, datagram: bool, directions: int = 1
) -> float:
    """The most payload that a link can carry, in MB/s (10^6 bytes).

    A message of S bytes takes ``ceil(S / mtu)`` packets with H bytes of headers each, so that of
    the rate R remains ``R * S / (S + H * ceil(S / mtu))``.

    Args:
        gigabits: rate of the link in Gbit/s.
        size: message size in bytes, above 0.
        mtu: payload of a packet in bytes.
        link: its link layer.
        datagram: whether packets are datagrams (UD).
        directions: 2 where both directions are counted together.
    """
    packets = -(-size // mtu)
    on_the_wire = size + packets * headers(link, datagram=datagram)
    return directions * gigabits * _MB_OF_GIGABIT * size / on_the_wire


def above_ceiling(curve: Curve, ceilings: Mapping[int, float]) -> list[str]:
    """A sentence for each size whose bandwidth is more than its link can carry."""
    return [
        f"expected at most {amount(ceilings[size], 'MB/s')} of payload at {format_size(size)}, "
        f"found {amount(value, 'MB/s')}, more than the link can carry: the data took another path, "
        "or link_rate in the site file is too low"
        for size, value in _bandwidths(curve).items()
        if value > ceilings[size]
    ]


def fills_link(curve: Curve) -> bool:
    """Whether a curve has bandwidths of messages so large that they could fill a link."""
    return any(size >= _FILLS_LINK for size in _bandwidths(curve))


def judge_share(curve: Curve, ceilings: Mapping[int, float], rate: Rate) -> tuple[Level, str]:
    """Whether the curve comes close enough to the ceiling, at the size where it comes closest.

    Returns:
        The level, and a sentence on it that is empty when it is good.
    """
    shares = {size: value / ceilings[size] for size, value in _bandwidths(curve).items()}
    size = max(shares, key=shares.__getitem__)
    if shares[size] >= rate.warning:
        return Level.GOOD, ""
    level = Level.CRITICAL if shares[size] < rate.critical else Level.WARNING
    wanted = rate.critical if level is Level.CRITICAL else rate.warning
    return level, (
        f"{level}: bandwidth reaches {share(shares[size])} of what a link of {rate.gigabits:g} "
        f"Gbit/s can carry at best (at {format_size(size)}: {amount(ceilings[size], 'MB/s')}), "
        f"expected {share(wanted)} or more: look at the link's rate and width, PCIe, and congestion"
    )


def _bandwidths(curve: Curve) -> dict[int, float]:
    return {
        point.size: point.values[Metric.BANDWIDTH, "avg"]
        for point in curve.points
        if point.size is not None and (Metric.BANDWIDTH, "avg") in point.values
    }
