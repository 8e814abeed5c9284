"""What links and memory allow, whatever was measured before: ceilings, floors, least times.

A value that is better than the links allow can't be true: the data took another path. Where no
reference judges a bandwidth of large messages, the share of the link that it reaches does.

Inside a node each byte is copied at least once by some rank, which a core does fastest in cache.

Bounds are on the safe side: the largest packets (4096 bytes of payload) unless the site names the
MTU, the smallest headers of the fabric, and as many links as the ports that moved packets. A
message between two nodes crosses two cards and PCIe twice; the fastest adapters are sold with less
than 0.6 us for this (NVIDIA, ConnectX-6 user manual), so half of it is a bound that none reaches.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fabricheck.judge.link_rate import Link, Rate, ceiling, headers, read_rate
from fabricheck.judge.reference import Reference
from fabricheck.measures.benchmark import Benchmark
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import find
from fabricheck.sites.extras import PartitionExtras
from fabricheck.units import amount, format_size

COPY_RATE = "copy_rate"
"""What a program says of its ranks: bytes a second that they copy, all together."""
_COPIED = 2e-6
"""Of it in MB/s; twice, since the other thread of a core may have halved it."""
_LEAST_LATENCY = 0.3
_LARGEST_MTU = 4096
_FILLS_LINK_ALONE = 1 << 20
"""Bytes of a message that takes longer to send than to start, on links of up to 400 Gbit/s."""

_GIGABIT_PER_US = 1000
_BITS = 8

_ONE_WAY = ("pt2pt", "ucx")
# Every rank of these needs the data of every other one before it can end.
_ALL_NEED_ALL = ("allreduce", "allgather", "alltoall", "barrier")

_FABRICS = {"infiniband": Link.INFINIBAND, "roce": Link.ETHERNET, "ethernet": Link.ETHERNET}


@dataclass(frozen=True, slots=True)
class Links:
    """The links between the nodes of a case.

    Attributes:
        rate: what each link should carry; ``None`` where the site doesn't say, or where the data
            may pass other interfaces than those the site means.
        number: links that each node uses.
        nodes: nodes of the case.
        mtu: payload of a packet in bytes.
        layer: the link layer; the one with the smaller headers where the site doesn't say.
        datagram: whether the messages travel in datagrams, which no program fills a link with.
        least_latency: time in us that no message between nodes falls below.
    """

    rate: Rate | None
    number: int
    nodes: int
    mtu: int = _LARGEST_MTU
    layer: Link = Link.INFINIBAND
    datagram: bool = False
    least_latency: float = _LEAST_LATENCY


def read_links(
    extras: PartitionExtras, nodes: int, number: int, *, rdma: bool, datagram: bool
) -> Links:
    """The links of a case, from the extras of its partition.

    Args:
        extras: ``link_rate``, ``link_shares``, ``fabric``, ``least_latency`` and the MTU of
            ``fabric_health`` are read.
        nodes: nodes of the case, two at least.
        number: ports of one node that moved packets; none where that is not known, and then
            nothing is too fast for the links.
        rdma: whether RDMA ports carry the data, whose rate ``link_rate`` is.
        datagram: whether they do so in datagrams.

    Raises:
        FabricheckError: for shares of the link that make no sense.
    """
    return Links(
        rate=read_rate(extras) if rdma else None,
        number=number,
        nodes=nodes,
        mtu=extras.fabric_health.mtu or _LARGEST_MTU,
        layer=_FABRICS.get(extras.fabric, Link.INFINIBAND),
        datagram=datagram,
        least_latency=extras.least_latency,
    )


def impossible(curve: Curve, links: Links | None) -> tuple[str, ...]:
    """A sentence for each value that is better than the links allow; without any, than memory."""
    benchmark = find(curve.benchmark)
    if links is None:
        most = float(curve.metadata.get(COPY_RATE, "inf")) * _COPIED
        return tuple(
            f"expected at most {amount(most, 'MB/s')} at {format_size(size)} inside a node, found "
            f"{amount(rate, 'MB/s')}, more than twice what all ranks together copied in the same "
            "run: the data were not copied, or a clock is wrong"
            for size, rate in _moved(curve, benchmark)
            if rate > most
        )
    return tuple(
        sentence
        for point in curve.points
        for sentence in (
            _too_fast(benchmark, point.size, point.values.get((Metric.BANDWIDTH, "avg")), links),
            _too_soon(benchmark, point.size, point.values.get((Metric.LATENCY, "avg")), links),
        )
        if sentence
    )


def _moved(curve: Curve, benchmark: Benchmark) -> Iterator[tuple[int, float]]:
    """MB/s that ranks passed on from memory to memory at each size, by bandwidth or latency."""
    for point in curve.points:
        if point.size and (rate := point.values.get((Metric.BANDWIDTH, "avg"))):
            yield point.size, rate
        latency = point.values.get((Metric.LATENCY, "avg"))
        if point.size and latency and benchmark.family in _ONE_WAY:
            yield point.size, point.size / latency


def derived(curve: Curve, links: Links) -> dict[Variable, Reference]:
    """References of bandwidths by variable: the share of one link that large messages must reach.

    They hold for connections between two ends. What a node has more than one link for may be more.
    """
    rate = links.rate
    if rate is None or links.datagram:
        return {}
    benchmark = find(curve.benchmark)
    if benchmark.family not in _ONE_WAY or (Metric.BANDWIDTH, "avg") not in benchmark.recorded:
        return {}
    found = {}
    for point in curve.points:
        if (point.size or 0) < _FILLS_LINK_ALONE or (Metric.BANDWIDTH, "avg") not in point.values:
            continue
        assert point.size is not None, "its size was compared"
        carried = _carried(benchmark, point.size, links, rate, 1)
        found[Variable(Metric.BANDWIDTH, "avg", point.size)] = Reference(
            carried, rate.critical - 1, None, "MB/s", warning=(rate.warning - 1, None)
        )
    return found


def least_time(benchmark: Benchmark, size: int | None, links: Links) -> float | None:
    """The least average latency in us that the links allow; ``None`` for one that has no such.

    Point-to-point latencies are those of one way, so a message of S bytes takes its time on the
    link. Of a reduction over all, each rank needs S bytes that are not its own; of an exchange or
    a gathering, S bytes from each other node at least. What one rank has when others have not, as
    a broadcast's root, has no least time.
    """
    if benchmark.family in _ONE_WAY:
        factor = 1
    elif benchmark.name in _ALL_NEED_ALL:
        factor = links.nodes - 1 if benchmark.name in ("allgather", "alltoall") else 1
    else:
        return None
    if links.rate is None or not links.number or not size:
        return links.least_latency
    bits = factor * size * _BITS
    return links.least_latency + bits / (links.rate.gigabits * _GIGABIT_PER_US * links.number)


def _carried(benchmark: Benchmark, size: int, links: Links, rate: Rate, number: int) -> float:
    """Payload in MB/s of a number of links for each node that sends."""
    directions = 2 if "bibw" in benchmark.name else 1
    senders = 1
    if benchmark.family == "congestion":
        senders = links.nodes - 1
    elif benchmark.name == "mbw_mr":
        senders = max(1, links.nodes // 2)
    return (number * senders) * ceiling(
        rate.gigabits, size, links.mtu, links.layer, datagram=links.datagram, directions=directions
    )


def _too_fast(benchmark: Benchmark, size: int | None, value: float | None, links: Links) -> str:
    if value is None or not size or links.rate is None or not links.number:
        return ""
    most = _carried(benchmark, size, links, links.rate, links.number)
    if value <= most:
        return ""
    return (
        f"expected at most {amount(most, 'MB/s')} of payload at {format_size(size)}, found "
        f"{amount(value, 'MB/s')}, more than {links.number} link(s) of {links.rate.gigabits:g} "
        f"Gbit/s can carry with {headers(links.layer, datagram=links.datagram)} bytes around each "
        "packet: the data took another path, or link_rate in the site file is too low"
    )


def _too_soon(benchmark: Benchmark, size: int | None, value: float | None, links: Links) -> str:
    least = least_time(benchmark, size, links)
    if value is None or least is None or value >= least:
        return ""
    at = f" at {format_size(size)}" if size else ""
    return (
        f"expected {amount(least, 'us')} or more{at} between nodes, found {amount(value, 'us')}, "
        "less than the link and its cards take: the data took another path, or link_rate or "
        "least_latency in the site file is wrong"
    )
