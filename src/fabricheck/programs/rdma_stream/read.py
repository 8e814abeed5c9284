"""Curves of ``rdma_stream``, from its results, and of the program of SEREN, from what it prints.

SEREN's program prints lines about each stream, and does not say which rank was where.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.rdma_stream.entries import (
    BENCHMARKS,
    PROGRAM,
    benchmark_name,
    topology_of,
)

UNEVEN: Final = "Uneven"
"""Metadata: how far the rate of a stream lies from the mean of its receiver's, at most."""
MISSED: Final = "Missed"
"""Metadata: how many messages were lost."""

_WHOLE, _DECIMAL = r"\d{1,18}", r"\d{1,18}\.\d{1,18}"
_LOSS = r"\d(?:\.\d{1,20})?(?:e-\d{1,3})?"
_SEREN = re.compile(
    r"^(?:INFO:__main__:)?Rank (?P<rank>\d{1,9}) "
    r"(?:transmitter|receiver from transmitter (?P<tx>\d{1,9})),? (?:"
    rf"(?P<time>elapsed time|data rate) is (?P<decimal>{_DECIMAL})(?: seconds| Gbps)|"
    rf"(?P<count>message missed|message received|message total) is (?P<whole>{_WHOLE})|"
    rf"(?P<loss>message loss rate) is (?P<share>{_LOSS}))$",
    re.ASCII,
)
_SEREN_LIKE = re.compile(r"^(?:INFO:__main__:)?Rank \d+ (?:transmitter|receiver) ", re.ASCII)
# Once at each end of a stream, when it is over.
_SEREN_END = re.compile(r"^INFO:\s*Receive Visibilities ending [01]$", re.MULTILINE)
_SHAPE = re.compile(
    r"rdma_buffers for (?:receiver shape is \(\d+, |transmitter shape is \()"
    r"\d+, \d+, (?P<size>\d{1,9})\)$",
    re.MULTILINE | re.ASCII,
)
_AGAIN = "run it again with its output in a separate file"
_MB_OF_GBIT = 125.0
_ROUNDING = 1e-4
_BYTES_OF_GBIT = 125_000_000
_BITS_OF_GBIT = 1e9


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream.

    Attributes:
        receiver: rank that received.
        number: of this receiver's streams, from 0.
        rate: of the receiver, in Gbit/s.
        sent_rate: of the transmitter, in Gbit/s.
        missed: messages that never came.
        received: messages that came.
        total: messages that the transmitter numbered.
        hosts: of receiver and transmitter; empty where the output doesn't say.
    """

    receiver: int
    number: int
    rate: float
    sent_rate: float
    missed: int
    received: int
    total: int
    hosts: tuple[str, str] = ("", "")


def is_output(text: str) -> bool:
    """Whether a text is meant to be what SEREN's program printed."""
    return any(map(_SEREN_LIKE.match, text.split("\n")))


def from_result(result: ProgramResult, name: str = "") -> Curve:
    """The curve of a run of ``rdma_stream``: one size, over all its streams.

    Raises:
        ParseError: if figures of a stream don't fit each other, or if the streams are those of no
            topology.
    """
    streams = read(result)
    topology = topology_of(
        [(f"{each.hosts[0]}:{each.receiver}", each.hosts[1]) for each in streams]
    )
    ran = benchmark_name(result.benchmark, topology) if topology else ""
    if ran not in BENCHMARKS:
        result.refuse(
            "expected streams of one of the topologies T1 to T7, found receivers and "
            "transmitters on other nodes: the launcher placed the ranks elsewhere"
        )
    size = result.need(result.results[0], "size", int)
    return curve(streams, ran, size, {**result.metadata(), "Version": result.version})


RESULTS = {PROGRAM: from_result}


def read(result: ProgramResult) -> list[Stream]:
    """The streams of a run of ``rdma_stream``.

    Raises:
        ParseError: if figures of a stream don't fit each other.
    """
    streams: list[Stream] = []
    seen: dict[int, int] = defaultdict(int)
    for each in result.results:
        receiver = result.need(each, "receiver", int)
        elapsed = result.need(each, "elapsed", int, float)
        bits = 8 * result.need(each, "size", int) * result.need(each, "received", int)
        rates = [result.need(each, f"{side}_rate", int, float) for side in ("receive", "send")]
        if abs(rates[0] * elapsed - bits) > _ROUNDING * bits:
            result.refuse(
                f"expected a rate of {bits / elapsed if elapsed else 0:.9g} bit/s of receiver "
                f"{receiver} from its messages and its time, found {rates[0]}: the file is damaged"
            )
        stream = Stream(
            receiver=receiver,
            number=seen[receiver],
            rate=rates[0] / _BITS_OF_GBIT,
            sent_rate=rates[1] / _BITS_OF_GBIT,
            missed=result.need(each, "missed", int),
            received=each["received"],
            total=result.need(each, "total", int),
            hosts=(
                result.need(each, "receiver_host", str),
                result.need(each, "transmitter_host", str),
            ),
        )
        _check(stream, result.need(each, "loss_rate", int, float), result.source)
        seen[receiver] += 1
        streams.append(stream)
    return streams


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of a run of SEREN's program, which doesn't say which of the benchmarks it was.

    Raises:
        ParseError: as for ``read_seren``, or if the streams are not those of the topology.
    """
    known = [each for each in BENCHMARKS if each.startswith("rdma_")]
    if name not in known:
        raise ParseError(
            f"FC1235 {source}: expected the name of the benchmark (--benchmark) with the output of "
            f"SEREN's program, which names no hosts, found {name or 'none'}: name one of "
            f"{', '.join(known)}"
        )
    streams, size = read_seren(text, source)
    topology = BENCHMARKS[name].topology
    units = len({each.receiver for each in streams})
    if len(streams) != units * topology.transmitters or not topology.has(units):
        raise ParseError(
            f"FC1236 {source}: expected streams of {topology.name} ({topology.title}), found "
            f"{len(streams)} into {units} receivers: the output is cut, or of another topology"
        )
    return curve(streams, name, size)


def _check(stream: Stream, loss: float, source: str) -> None:
    """Missed and received are all, and the loss rate is what they say."""
    expected = stream.missed / stream.total if stream.total else 0.0
    if stream.missed + stream.received != stream.total or abs(loss - expected) > _ROUNDING:
        raise ParseError(
            f"FC1237 {source}: expected missed and received messages to be the total, and the loss "
            f"rate their share, found {stream.missed}, {stream.received}, {stream.total} and "
            f"{loss:g} of receiver {stream.receiver}: the output is damaged"
        )


def _seren_figures(text: str, source: str) -> dict[tuple[int, int | None], dict[str, float]]:
    """What each side tells, by rank and, of a receiver, number of the transmitter."""
    figures: dict[tuple[int, int | None], dict[str, float]] = defaultdict(dict)
    for number, line in enumerate(text.split("\n"), start=1):
        match = _SEREN.match(line)
        if not match:
            if _SEREN_LIKE.match(line):
                raise ParseError(
                    f"FC1238 {source}: line {number}: expected a figure of a rank, found "
                    f"{line.strip()[:120]!r}: it is cut or damaged"
                )
            continue
        key = (int(match["rank"]), None if match["tx"] is None else int(match["tx"]))
        what = match["time"] or match["count"] or match["loss"]
        if what in figures[key]:
            raise ParseError(
                f"FC1239 {source}: expected one {what} of each side, found a second: {_AGAIN}"
            )
        figures[key][what] = float(match["decimal"] or match["whole"] or match["share"])
    return figures


def read_seren(text: str, source: str) -> tuple[list[Stream], int]:
    """The streams that the lines of SEREN's program tell, and the size of a message.

    Time, rate and number of messages of each side give the size.

    Raises:
        ParseError: if a figure of a stream is missing or damaged, or the program's last lines are.
    """
    figures = _seren_figures(text, source)
    receivers = sorted((rank, number) for rank, number in figures if number is not None)
    count = len({rank for rank, _ in receivers})
    streams = []
    for rank, number in receivers:
        told = figures[rank, number]
        sent = figures.get((rank + number * count, None), {})
        try:
            stream = Stream(
                receiver=rank,
                number=number,
                rate=told["data rate"],
                sent_rate=sent["data rate"],
                missed=int(told["message missed"]),
                received=int(told["message received"]),
                total=int(told["message total"]),
            )
            _check(stream, told["message loss rate"], source)
        except KeyError as error:
            raise ParseError(
                f"FC1240 {source}: expected the {error} of the stream {number} of receiver {rank}, "
                "found none: the output is cut"
            ) from None
        streams.append(stream)
    if not streams or len(figures) != 2 * len(streams):
        raise ParseError(
            f"FC1241 {source}: expected both sides of each stream, found {len(streams)} receivers' "
            f"and {len(figures) - len(streams)} transmitters': the output is cut"
        )
    if (ends := len(_SEREN_END.findall(text))) != 2 * len(streams):
        raise ParseError(
            f"FC1242 {source}: expected two lines 'Receive Visibilities ending' of each stream, "
            f"found {ends} with {len(streams)} streams: the output is cut, or not all of it"
        )
    return streams, _seren_size(figures, streams, text, source)


def _seren_size(
    figures: Mapping[tuple[int, int | None], Mapping[str, float]],
    streams: Sequence[Stream],
    text: str,
    source: str,
) -> int:
    totals: dict[tuple[int, int | None], int] = {
        (each.receiver, each.number): each.total for each in streams if not each.missed
    }
    count = len({each.receiver for each in streams})
    totals |= {(each.receiver + each.number * count, None): each.total for each in streams}
    estimates = {float(size) for size in _SHAPE.findall(text)}
    for key, total in totals.items():
        figure = figures[key]
        if total:
            estimates.add(
                figure.get("elapsed time", 0.0) * figure["data rate"] * _BYTES_OF_GBIT / total
            )
    sizes = {round(each) for each in estimates}
    if len(sizes) != 1 or any(abs(each - round(each)) > _ROUNDING * each for each in estimates):
        raise ParseError(
            f"FC1243 {source}: expected one size of messages from times, rates and numbers, found "
            f"{', '.join(f'{each:.6g}' for each in sorted(estimates)) or 'none'} B: the output is "
            "damaged, or those of several runs are put together"
        )
    return sizes.pop()


def curve(
    streams: Sequence[Stream], name: str, size: int, metadata: dict[str, str] | None = None
) -> Curve:
    """The one point of a benchmark: mean and slowest rate of its streams, and their losses."""
    told = metadata or {}
    rates = [each.rate * _MB_OF_GBIT for each in streams]
    total = sum(each.total for each in streams)
    missed = sum(each.missed for each in streams)
    values = {
        (Metric.BANDWIDTH, "avg"): sum(rates) / len(rates),
        (Metric.BANDWIDTH, "min"): min(rates),
        (Metric.ERROR_RATIO, "avg"): missed / total if total else 0.0,
    }
    most = max(each.total for each in streams)
    return Curve(
        benchmark=name,
        program=PROGRAM,
        version=told.get("Version", ""),
        metadata={**told, UNEVEN: f"{uneven(streams):.6f}", MISSED: f"{missed} of {total}"},
        points=(Point(size, values, most, valid=None),),
        is_whole=True,
    )


def uneven(streams: Sequence[Stream]) -> float:
    """How far the rate of a stream lies from the mean of its receiver's streams, as a share.

    0 where each receiver has one stream.
    """
    by_receiver: dict[int, list[float]] = defaultdict(list)
    for each in streams:
        by_receiver[each.receiver].append(each.rate)
    return max(
        abs(rate - sum(rates) / len(rates)) / (sum(rates) / len(rates))
        for rates in by_receiver.values()
        for rate in rates
        if sum(rates)
    )
