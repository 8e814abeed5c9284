"""Strict reading of what ``rdma_stream`` prints, and of what the program of SEREN prints.

Both print the same lines about each stream, SEREN's with Python's ``INFO:__main__:`` before them.
``rdma_stream`` prints a table as well, with an end mark; where there is one it is read and the
lines are not, as it says more. SEREN's program has no table, and does not say which rank was where.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.streams import (
    PROGRAM,
    STREAM_BENCHMARKS,
    benchmark_name,
    topology_of,
)
from fabricheck.benchmarks.table import ParseError

UNEVEN: Final = "Uneven"
"""Metadata: how far the rate of a stream lies from the mean of its receiver's, at most."""
MISSED: Final = "Missed"
"""Metadata: how many messages were lost."""

_TITLE = re.compile(rf"^# {PROGRAM} v(?P<version>\d[\w.+-]*)$")
_METADATA = re.compile(r"^# (?P<key>[A-Z][A-Za-z ]*): (?P<value>.+)$")
_COLUMNS = re.compile(r"^# Rx +Host +Tx +Host +Elapsed\(s\) ")
_ROW = re.compile(
    r"^ {2}(?P<rx>\d+) +(?P<rx_host>\S+) +(?P<tx>\d+) +(?P<tx_host>\S+) +(?P<elapsed>\d+\.\d+) +"
    r"(?P<rx_rate>\d+\.\d+) +(?P<tx_rate>\d+\.\d+) +(?P<missed>\d+) +(?P<trailing>\d+) +"
    r"(?P<received>\d+) +(?P<total>\d+) +(?P<repeated>\d+) +(?P<disordered>\d+) +(?P<wrong>\d+) +"
    r"(?P<loss>\d+(?:\.\d+)?(?:e-\d+)?) +[\d.]+ +[\d.]+$",
    re.ASCII,
)
_ROW_LIKE = re.compile(r"^ {2}\d+ ")
_ENDED = re.compile(r"^# (?P<how>Complete|Incomplete): (?P<count>\d+) streams?$", re.ASCII)
_WHY = re.compile(r"^# Rank \d+ did not come to its end: .+$", re.MULTILINE)
_SEREN = re.compile(
    r"^(?:INFO:__main__:)?Rank (?P<rank>\d+) (?:transmitter|receiver from transmitter (?P<tx>\d+))"
    r",? (?P<what>elapsed time|data rate|message missed|message received|message total|"
    r"message loss rate) is (?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: seconds| Gbps)?$",
    re.ASCII,
)
_SHAPE = re.compile(
    r"rdma_buffers for (?:receiver shape is \(\d+, |transmitter shape is \()"
    r"\d+, \d+, (?P<size>\d+)\)$",
    re.MULTILINE | re.ASCII,
)
_NEEDED = {"Method": "rdma|mpi|udp", "Message": r"\d{1,10}", "Ranks": r"\d+", "MPI": ".+"}
_AGAIN = "run it again with its output in a file of its own"
_MB_OF_GBIT = 125.0
_ROUNDING = 1e-4


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
    return any(_TITLE.match(line) or _SEREN.match(line) for line in text.split("\n"))


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
    if name and not any(map(_TITLE.match, text.split("\n"))):
        told, size = read_seren(text, source)
        return curve(told, name, size or STREAM_BENCHMARKS[name].min_size or 0)
    streams, metadata = read(text, source)
    topology = topology_of(
        [(f"{each.hosts[0]}:{each.receiver}", each.hosts[1]) for each in streams]
    )
    ran = benchmark_name(metadata["Method"], topology) if topology else ""
    if ran not in STREAM_BENCHMARKS:
        raise ParseError(
            f"{source}: expected streams of one of the topologies T1 to T7, found receivers and "
            "transmitters on other nodes: the launcher placed the ranks elsewhere"
        )
    return curve(streams, ran, int(metadata["Message"]), metadata)


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
    for key, form in _NEEDED.items():
        if not re.fullmatch(form, metadata.get(key, ""), re.ASCII):
            raise ParseError(
                f"{source}: expected the line '# {key}:' above the table, found "
                f"{metadata.get(key, 'none')!r}: it is cut or damaged"
            )
    assert title is not None, "a title is what the lines below begin with"
    return _numbered(rows, source), {**metadata, "Version": title["version"]}


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


def _numbered(rows: Iterable[re.Match[str]], source: str) -> list[Stream]:
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


def read_seren(text: str, source: str) -> tuple[list[Stream], int | None]:
    """The streams that the lines of SEREN's program tell, and the message size where it does.

    Raises:
        ParseError: if a figure of a stream is missing or damaged.
    """
    figures: dict[tuple[int, int | None], dict[str, float]] = defaultdict(dict)
    for match in filter(None, map(_SEREN.match, text.split("\n"))):
        key = (int(match["rank"]), None if match["tx"] is None else int(match["tx"]))
        if match["what"] in figures[key]:
            raise ParseError(
                f"{source}: expected one {match['what']} of each side, found a second: {_AGAIN}"
            )
        figures[key][match["what"]] = float(match["value"])
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
    sizes = {int(size) for size in _SHAPE.findall(text)}
    return streams, sizes.pop() if len(sizes) == 1 else None


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
