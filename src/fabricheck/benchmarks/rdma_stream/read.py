"""Strict reading of what ``rdma_stream`` prints, and of what the program of SEREN prints.

Both print the same lines about each stream, SEREN's with Python's ``INFO:__main__:`` before them.
``rdma_stream`` prints a table as well, with an end mark; where there is one it is read and the
lines are not, as it says more. SEREN's program has no table, and does not say which rank was where.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.parser import ParseError
from fabricheck.benchmarks.rdma_stream.entries import (
    BENCHMARKS,
    PROGRAM,
    benchmark_name,
    topology_of,
)

UNEVEN: Final = "Uneven"
"""Metadata: how far the rate of a stream lies from the mean of its receiver's, at most."""
MISSED: Final = "Missed"
"""Metadata: how many messages were lost."""

_TITLE = re.compile(rf"^# {PROGRAM} v(?P<version>\d[\w.+-]*)$")
_METADATA = re.compile(r"^# (?P<key>[A-Z][A-Za-z ]*): (?P<value>.+)$")
_COLUMNS = re.compile(r"^# Rx +Host +Tx +Host +Elapsed\(s\) ")
_WHOLE, _DECIMAL = r"\d{1,18}", r"\d{1,18}\.\d{1,18}"
_LOSS = r"\d(?:\.\d{1,20})?(?:e-\d{1,3})?"
_ROW = re.compile(
    rf"^ {{2}}(?P<rx>{_WHOLE}) +(?P<rx_host>\S+) +(?P<tx>{_WHOLE}) +(?P<tx_host>\S+) +"
    rf"(?P<elapsed>{_DECIMAL}) +(?P<rx_rate>{_DECIMAL}) +(?P<tx_rate>{_DECIMAL}) +"
    rf"(?P<missed>{_WHOLE}) +(?P<trailing>{_WHOLE}) +(?P<received>{_WHOLE}) +(?P<total>{_WHOLE}) +"
    rf"(?P<repeated>{_WHOLE}) +(?P<disordered>{_WHOLE}) +(?P<wrong>{_WHOLE}) +(?P<loss>{_LOSS}) +"
    r"[\d.]+ +[\d.]+$",
    re.ASCII,
)
_ROW_LIKE = re.compile(r"^ {2}\d+ ")
_ENDED = re.compile(r"^# (?P<how>Complete|Incomplete): (?P<count>\d{1,9}) streams?$", re.ASCII)
_WHY = re.compile(r"^# Rank \d+ did not come to its end: .+$", re.MULTILINE)
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
_NEEDED = {"Method": "rdma|mpi|udp", "Message": r"\d{1,10}", "Ranks": r"\d+", "MPI": ".+"}
_AGAIN = "run it again with its output in a file of its own"
_MB_OF_GBIT = 125.0
_ROUNDING = 1e-4
_BYTES_OF_GBIT = 125_000_000


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
    """Whether a text is meant to be what either program printed."""
    return any(_TITLE.match(line) or _SEREN_LIKE.match(line) for line in text.split("\n"))


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of one run: one size, over all its streams.

    Args:
        text: the whole output.
        source: what to call it in messages.
        name: the benchmark that ran, for the output of SEREN's program, which doesn't say.

    Raises:
        ParseError: if the table is missing, cut, damaged or marked as incomplete, or if the streams
            are those of no topology.
    """
    if not any(map(_TITLE.match, text.split("\n"))):
        return _parse_seren(text, source, name)
    streams, metadata = read(text, source)
    topology = topology_of(
        [(f"{each.hosts[0]}:{each.receiver}", each.hosts[1]) for each in streams]
    )
    ran = benchmark_name(metadata["Method"], topology) if topology else ""
    if ran not in BENCHMARKS:
        raise ParseError(
            f"{source}: expected streams of one of the topologies T1 to T7, found receivers and "
            "transmitters on other nodes: the launcher placed the ranks elsewhere"
        )
    return curve(streams, ran, int(metadata["Message"]), metadata)


def _parse_seren(text: str, source: str, name: str) -> Curve:
    known = [each for each in BENCHMARKS if each.startswith("rdma_")]
    if name not in known:
        raise ParseError(
            f"{source}: expected the name of the benchmark (--benchmark) with the output of "
            f"SEREN's program, which tells no hosts, found {name or 'none'}: name one of "
            f"{', '.join(known)}"
        )
    streams, size = read_seren(text, source)
    topology = BENCHMARKS[name].topology
    units = len({each.receiver for each in streams})
    if len(streams) != units * topology.transmitters or not topology.has(units):
        raise ParseError(
            f"{source}: expected streams of {topology.name} ({topology.title}), found "
            f"{len(streams)} into {units} receivers: the output is cut, or of another topology"
        )
    return curve(streams, name, size)


def read(text: str, source: str) -> tuple[list[Stream], dict[str, str]]:
    """The streams of the table of ``rdma_stream``, and what stands above it.

    Raises:
        ParseError: if it is missing, cut, damaged or marked as incomplete.
    """
    lines = text.split("\n")
    titles = [number for number, line in enumerate(lines) if _TITLE.match(line)]
    if len(titles) != 1:
        raise ParseError(
            f"{source}: expected one table of {PROGRAM}, found {len(titles)}: the output is cut or "
            f"several are mixed up; {_AGAIN}"
        )
    below = lines[titles[0] :]
    title = _TITLE.match(below[0])
    metadata = {match["key"]: match["value"] for match in map(_METADATA.match, below) if match}
    ended = [match for match in map(_ENDED.match, below) if match]
    if not ended:
        raise ParseError(
            f"{source}: expected the line that says how many streams there are, found none: the "
            "table is cut"
        )
    if ended[-1]["how"] == "Incomplete":
        why = "; ".join(line.removeprefix("# ") for line in _WHY.findall(text)) or "wrong content"
        raise ParseError(f"{source}: expected streams that came to their end, found: {why}")
    rows = _rows(below, titles[0], source)
    if len(rows) != int(ended[-1]["count"]) or not rows:
        raise ParseError(
            f"{source}: expected {ended[-1]['count']} streams, found {len(rows)}: rows are missing "
            f"or repeated; {_AGAIN}"
        )
    needed = _NEEDED | ({"MTU": r"\d{1,6}"} if "MTU" in metadata else {})
    for key, form in needed.items():
        if not re.fullmatch(form, metadata.get(key, ""), re.ASCII):
            raise ParseError(
                f"{source}: expected the line '# {key}:' above the table, found "
                f"{metadata.get(key, 'none')!r}: it is cut or damaged"
            )
    assert title is not None, "a title is what the lines below begin with"
    streams = _numbered(rows, int(metadata["Message"]), source)
    return streams, {**metadata, "Version": title["version"]}


def _rows(lines: Sequence[str], first: int, source: str) -> list[re.Match[str]]:
    if not any(_COLUMNS.match(line) for line in lines):
        raise ParseError(f"{source}: expected the line that names the columns, found none")
    rows = []
    for number, line in enumerate(lines, first + 1):
        match = _ROW.match(line)
        if match:
            rows.append(match)
        elif _ROW_LIKE.match(line):
            raise ParseError(
                f"{source}: line {number}: expected a row of the table, found {line.strip()!r}: "
                f"it is cut or mixed with other output; {_AGAIN}"
            )
    return rows


def _numbered(rows: Iterable[re.Match[str]], size: int, source: str) -> list[Stream]:
    streams: list[Stream] = []
    seen: dict[int, int] = defaultdict(int)
    for row in rows:
        receiver = int(row["rx"])
        stream = Stream(
            receiver=receiver,
            number=seen[receiver],
            rate=float(row["rx_rate"]),
            sent_rate=float(row["tx_rate"]),
            missed=int(row["missed"]),
            received=int(row["received"]),
            total=int(row["total"]),
            hosts=(row["rx_host"], row["tx_host"]),
        )
        _check(stream, float(row["loss"]), source)
        # Elapsed has six decimals, the rate four.
        elapsed = float(row["elapsed"])
        rate = stream.received * size / _BYTES_OF_GBIT / max(elapsed, 1e-6)
        if abs(stream.rate - rate) > _ROUNDING + rate * 1e-6 / max(elapsed, 1e-6):
            raise ParseError(
                f"{source}: expected Rx {rate:.4f} Gbit/s of receiver {receiver} from its messages "
                f"and its time, found {stream.rate}: the output is damaged"
            )
        seen[receiver] += 1
        streams.append(stream)
    return streams


def _check(stream: Stream, loss: float, source: str) -> None:
    """Missed and received are all, and the loss rate is what they say."""
    expected = stream.missed / stream.total if stream.total else 0.0
    if stream.missed + stream.received != stream.total or abs(loss - expected) > _ROUNDING:
        raise ParseError(
            f"{source}: expected missed and received messages to be the total, and the loss rate "
            f"their share, found {stream.missed}, {stream.received}, {stream.total} and {loss:g} "
            f"of receiver {stream.receiver}: the output is damaged"
        )


def _seren_figures(text: str, source: str) -> dict[tuple[int, int | None], dict[str, float]]:
    """What each side tells, by rank and, of a receiver, number of the transmitter."""
    figures: dict[tuple[int, int | None], dict[str, float]] = defaultdict(dict)
    for number, line in enumerate(text.split("\n"), start=1):
        match = _SEREN.match(line)
        if not match:
            if _SEREN_LIKE.match(line):
                raise ParseError(
                    f"{source}: line {number}: expected a figure of a rank, found "
                    f"{line.strip()[:120]!r}: it is cut or damaged"
                )
            continue
        key = (int(match["rank"]), None if match["tx"] is None else int(match["tx"]))
        what = match["time"] or match["count"] or match["loss"]
        if what in figures[key]:
            raise ParseError(
                f"{source}: expected one {what} of each side, found a second: {_AGAIN}"
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
                f"{source}: expected the {error} of the stream {number} of receiver {rank}, found "
                "none: the output is cut"
            ) from None
        streams.append(stream)
    if not streams or len(figures) != 2 * len(streams):
        raise ParseError(
            f"{source}: expected both sides of each stream, found {len(streams)} receivers' and "
            f"{len(figures) - len(streams)} transmitters': the output is cut"
        )
    if (ends := len(_SEREN_END.findall(text))) != 2 * len(streams):
        raise ParseError(
            f"{source}: expected two lines 'Receive Visibilities ending' of each stream, found "
            f"{ends} with {len(streams)} streams: the output is cut, or not all of it"
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
    found = {float(size) for size in _SHAPE.findall(text)}
    for key, total in totals.items():
        told = figures[key]
        if total:
            found.add(told.get("elapsed time", 0.0) * told["data rate"] * _BYTES_OF_GBIT / total)
    sizes = {round(each) for each in found}
    if len(sizes) != 1 or any(abs(each - round(each)) > _ROUNDING * each for each in found):
        raise ParseError(
            f"{source}: expected one size of messages from times, rates and numbers, found "
            f"{', '.join(f'{each:.6g}' for each in sorted(found)) or 'none'} B: the output is "
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
        datatype=None,
        metadata=MappingProxyType(
            {
                **told,
                UNEVEN: f"{uneven(streams):.6f}",
                MISSED: f"{missed} of {total}",
            }
        ),
        points=(Point(size, MappingProxyType(values), most, valid=None),),
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
