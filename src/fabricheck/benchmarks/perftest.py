"""Strict reading of the tables of perftest's ``ib_*_lat`` and ``ib_*_bw`` (4.5 to 26.04).

A table has a title, the settings that the program took, a line of column names, rows, and a line of
dashes at its end. What perftest calls MB/sec, and later MiB/sec, is 2^20 bytes a second.

perftest's JSON file has the same digits, of the last size only (docs/decisions.md).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.registry import PAIR_BENCHMARKS, Metric, PairBenchmark
from fabricheck.benchmarks.table import ParseError

PROGRAM: Final = "perftest"

DEVICE = "Device"
CONNECTION = "Connection type"
MTU = "Mtu"
LINK = "Link type"
GID_INDEX = "GID index"
INLINE = "Max inline data"
_USED = (DEVICE, CONNECTION, MTU, LINK, GID_INDEX)
_BENCHMARK = "benchmark"
_QUEUE_PAIRS = "Number of qps"
_POST_LIST = "Post List"
_EVENTS = "Test with events"

_TITLE = re.compile(
    r"^ {10,}(?P<verb>Send|RDMA_Write|RDMA_Read|Atomic)(?: FETCH_AND_ADD)?"
    r"(?P<both> Bidirectional)?(?: Post List)? (?P<kind>BW|Latency) Test$"
)
_TITLE_LIKE = re.compile(r"^ {10,}\S.*\bTest$")
_OPERATIONS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}
_KINDS = {"BW": "bw", "Latency": "lat"}

_SETTING = re.compile(r"^ ?(?P<key>[A-Za-z][\w *.-]*?)\s*: (?P<value>\S.*)$")
_EVENTS_LINE = re.compile(r"^ Test with events\. Using (?P<value>\S+)$")
_WARNING = re.compile(r"warning|conflicting", re.IGNORECASE)
# Without a peak perftest says so; the average is what is recorded.
_HARMLESS = re.compile(r"BW peak won't be measured")
_RULE = re.compile(r"^-{20,}$")
_ROW_START = re.compile(
    r"^\s*[+-]?(?:\.?\d|(?:nan|inf|infinity)(?:\s|$))", re.ASCII | re.IGNORECASE
)
_NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)

_MIB = 1 << 20
_MEGA = 1_000_000
_BYTES_OF_GIGABIT = 125_000_000


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its value is measured, a whole number (size, iterations), or of no interest."""

    title: str
    metric: Metric | None = None
    statistic: str = ""
    factor: float = 1
    whole: bool = False


_SIZE = _Column("#bytes", whole=True)
_ITERATIONS = _Column("#iterations", whole=True)
_RATE = _Column("MsgRate[Mpps]", Metric.MESSAGE_RATE, "avg", _MEGA)
_COLUMNS = {
    column.title: column
    for column in (
        _SIZE,
        _ITERATIONS,
        *(
            _Column(f"BW {name}[{unit}/sec]", Metric.BANDWIDTH, statistic, factor)
            for unit, factor in (
                ("MB", _MIB / _MEGA),
                ("MiB", _MIB / _MEGA),
                ("Gb", _BYTES_OF_GIGABIT / _MEGA),
            )
            for name, statistic in (("peak", "max"), ("average", "avg"))
        ),
        _RATE,
        *(
            _Column(title, Metric.LATENCY, statistic)
            for title, statistic in (
                ("t_min[usec]", "min"),
                ("t_max[usec]", "max"),
                ("t_typical[usec]", "p50"),
                ("t_avg[usec]", "avg"),
                ("99% percentile[usec]", "p99"),
                ("99.9% percentile[usec]", "p99.9"),
            )
        ),
        # Not read: perftest squares deviations as 32-bit numbers, and prints -nan above 46 ms.
        _Column("t_stdev[usec]"),
        _Column("CPU_Util[%]"),
        _Column("CPU_Util[%%]"),
    )
}
_COLUMN_TITLE = re.compile("|".join(re.escape(title) for title in _COLUMNS))
_REQUIRED = {"bw": {"max", "avg"}, "lat": {"min", "p50", "avg", "p99", "max"}}
_RISING = ("min", "p50", "p99", "p99.9", "max")


# What perftest 4.5 to 26.04 says on its error output, the cause before what follows from it.
_CAUSES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (
            r"IB device (\S+) not found",
            "expected the RDMA device {0} on both nodes, found none of that name on one of them: "
            "correct ucx_net_devices.rdma in the site file (ibv_devices lists what a node has)",
        ),
        (
            r"Unable to find the Infiniband/RoCE device|No IB devices found",
            "expected an RDMA device on both nodes, found none on one of them: look at its drivers "
            "(ibv_devices, dmesg)",
        ),
        (
            r"Unable to query port (\d+) attributes",
            "expected port {0} on the RDMA device, found none: correct ucx_net_devices.rdma in the "
            "site file",
        ),
        (
            r"Port number (\d+) state is (\w+)",
            "expected port {0} of the RDMA device to be active, found {1}: look at cable, switch "
            "port and ip link",
        ),
        (
            r"Gid index should be between 0 and (\d+)",
            "expected a GID index below {0}, found {gid_index}: correct gid_index in the site file "
            "(ibv_devinfo -v lists the addresses of a port)",
        ),
        (
            r"Failed to modify QP \d+ to RTR",
            "expected the two ports to connect, found that one can't reach the address of the "
            "other: GID index {gid_index} is empty on a node or is of another kind there (correct "
            "gid_index in the site file; ibv_devinfo -v lists the addresses), or there is no route",
        ),
        (
            r"RLIMIT_MEMLOCK is (\d+) bytes",
            "expected memory that can be locked for RDMA, found a limit of {0} B: raise memlock "
            "(ulimit -l, LimitMEMLOCK of slurmd)",
        ),
        (
            r"Couldn't allocate MR",
            "expected memory to be registered for RDMA, found that the node refuses it: raise "
            "memlock (ulimit -l, LimitMEMLOCK of slurmd)",
        ),
        (
            r"Failed status 12\b|transport retry counter exceeded",
            "expected an answer to every packet, found none after all retries: packets are lost, "
            "the link went down, or the other end died",
        ),
        (
            r"Couldn't connect to (\S+):(\d+)",
            "expected a connection to {0}, port {1}, found none: its name doesn't resolve to this "
            "node's network, or a firewall closes the port",
        ),
    )
)


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a client of perftest printed."""
    return any(_TITLE_LIKE.match(line) for line in text.split("\n"))


def split_runs(text: str) -> list[str]:
    """The output of each run, where several were put together; a run begins with its title."""
    runs: list[str] = []
    titles = 0
    for line in text.splitlines(keepends=True):
        titles += bool(_TITLE_LIKE.match(line.rstrip()))
        if titles > len(runs) or not runs:
            runs.append("")
        runs[-1] += line
    return runs


def parse(outputs: Sequence[str], source: str) -> Curve:
    """The curve that a client printed, in one run with all sizes or in one for each.

    The tables don't tell perftest's version.

    Args:
        outputs: the whole output of each run, with the line end of its last line.
        source: what to call the output in messages.

    Raises:
        ParseError: if a run has no table, more than one, or one that is empty, damaged or cut, or
            if the runs are not of the same test with the same settings, in the order of their
            sizes.
    """
    tables = [
        _read_table(text, source if len(outputs) == 1 else f"{source}: run {number}")
        for number, text in enumerate(outputs, start=1)
    ]
    first = tables[0]
    for number, table in enumerate(tables[1:], start=2):
        for what, expected, found in _differences(first, table):
            raise ParseError(
                f"{source}: run {number}: expected {what} {expected} as in run 1, found {found}: "
                "outputs of several tests are put together"
            )
    points = [point for table in tables for point in table.points]
    _check_order(points, source)
    return Curve(
        benchmark=first.benchmark,
        program=PROGRAM,
        version="",
        datatype=None,
        metadata=MappingProxyType(first.settings),
        points=tuple(points),
        remarks=tuple(dict.fromkeys(remark for table in tables for remark in table.remarks)),
    )


def confirm(curve: Curve, benchmark: PairBenchmark, asked: Mapping[str, str], source: str) -> Curve:
    """The curve as that of a benchmark, once perftest has said that it did what it was asked to.

    Args:
        curve: what was parsed, under the benchmark that it looks like.
        benchmark: the benchmark that was asked for.
        asked: settings by the names under which perftest prints them, such as ``CONNECTION``.
        source: what to call the output in messages.

    Raises:
        ParseError: naming what was asked for and what perftest used instead.
    """
    expected, found = dict(asked), dict(curve.metadata)
    options = list(benchmark.options)
    if "-I" in options:
        place = options.index("-I")
        expected[INLINE] = options[place + 1]
        del options[place : place + 2]
    plain = next(
        each.name
        for each in PAIR_BENCHMARKS.values()
        if (each.program, each.options) == (benchmark.program, tuple(options))
    )
    expected[_BENCHMARK], found[_BENCHMARK] = plain, curve.benchmark
    for key, value in expected.items():
        if found.get(key) != value:
            raise ParseError(
                f"{source}: expected {key} {value}, found {found.get(key, 'none')}: perftest did "
                "not do what it was asked to, so its figures belong to another test"
            )
    return replace(curve, benchmark=benchmark.name)


def cause(words: str, gid_index: int | None) -> str | None:
    """The cause of a failure in one sentence, where the words of both ends name one.

    Args:
        words: all that the ends printed.
        gid_index: the index that was asked for, ``None`` for perftest's own choice.
    """
    asked = "perftest's own choice" if gid_index is None else gid_index
    for pattern, sentence in _CAUSES:
        if match := pattern.search(words):
            return sentence.format(*match.groups(), gid_index=asked)
    return None


def used(curve: Curve) -> str:
    """The settings that say which way the data went."""
    return ", ".join(f"{key} {curve.metadata.get(key, 'none')}" for key in _USED)


def least_packets(curve: Curve) -> tuple[int, int]:
    """The packets that server and client must have sent, whatever else they sent.

    The client of a one-way test sends the data, the server at most acknowledgements; in a latency
    test and in both directions each sends. A read asks with one packet and is answered with the
    data, an atomic is answered with one.
    """
    benchmark = PAIR_BENCHMARKS[curve.benchmark]
    mtu = int(curve.metadata[MTU])
    counts = [(point.size or 0, point.iterations or 0) for point in curve.points]
    requests = sum(count for _, count in counts)
    data = sum(-(-size // mtu) * count for size, count in counts)
    both_ways = Metric.LATENCY in benchmark.metrics or "-b" in benchmark.options
    if benchmark.program.startswith(("ib_send", "ib_write")):
        return (data if both_ways else 0), data
    answered = data, requests
    if "-b" in benchmark.options:
        return sum(answered), sum(answered)
    return answered


def posted_at_once(benchmark: PairBenchmark) -> int:
    """How many requests a benchmark posts together; iterations must be a multiple of it."""
    options = benchmark.options
    return int(options[options.index("-l") + 1]) if "-l" in options else 1


def _differences(first: "_Table", table: "_Table") -> Iterator[tuple[str, str, str]]:
    yield from (
        (key, first.settings.get(key, "none"), table.settings.get(key, "none"))
        for key in _USED
        if first.settings.get(key) != table.settings.get(key)
    )
    if first.benchmark != table.benchmark:
        yield _BENCHMARK, first.benchmark, table.benchmark


def _check_order(points: Sequence[Point], source: str) -> None:
    sizes = [point.size or 0 for point in points]
    for before, size in pairwise(sizes):
        if size <= before:
            raise ParseError(
                f"{source}: expected a size greater than {before}, found {size}: rows are repeated "
                "or out of order; run the benchmark again with its output in a file of its own"
            )


@dataclass(frozen=True, slots=True)
class _Table:
    """One run's table."""

    benchmark: str
    settings: dict[str, str]
    points: list[Point]
    remarks: list[str]


def _read_table(text: str, source: str) -> _Table:
    if not text.strip():
        raise ParseError(
            f"{source}: expected the output of {PROGRAM}, found nothing: the client did not start, "
            "or its output went elsewhere"
        )
    reader = _Reader([line.rstrip() for line in text.split("\n")], source)
    title, number = reader.find_title()
    head, body = reader.find_columns(number)
    settings = dict(reader.read_settings(number + 1, head))
    kind = _KINDS[title["kind"]]
    points = [
        reader.read_row(number, columns, kind)
        for columns in [reader.read_columns(head, kind)]
        for number in range(body, reader.find_end(body))
    ]
    if not points:
        raise ParseError(
            f"{source}: expected rows after the column names, found none: the test was ended "
            "before its first size was done"
        )
    return _Table(
        benchmark=_identify(title, settings, source),
        settings=settings,
        points=points,
        remarks=[
            line.strip()
            for line in reader.lines
            if _WARNING.search(line) and not _HARMLESS.search(line)
        ],
    )


def _identify(title: re.Match[str], settings: Mapping[str, str], source: str) -> str:
    """The benchmark of the registry that ran, by what the program says of itself.

    Inline data can't be told from it: the program inlines what it likes unless told otherwise.
    """
    program = f"ib_{_OPERATIONS[title['verb']]}_{_KINDS[title['kind']]}"
    pairs = settings.get(_QUEUE_PAIRS, "1")
    options: tuple[str, ...] = ()
    options += () if pairs == "1" else ("-q", pairs)
    options += ("-l", settings[_POST_LIST]) if _POST_LIST in settings else ()
    options += ("-e",) if _EVENTS in settings else ()
    options += ("-b",) if title["both"] else ()
    for benchmark in PAIR_BENCHMARKS.values():
        if (benchmark.program, benchmark.options) == (program, options):
            return benchmark.name
    raise ParseError(
        f"{source}: expected a verbs benchmark of the registry, found {program} "
        f"{' '.join(options)}: take options away that no benchmark has"
    )


class _Reader:
    """The lines of one run; numbers count from 1."""

    def __init__(self, lines: list[str], source: str) -> None:
        self.lines = lines
        self._source = source

    def find_title(self) -> tuple[re.Match[str], int]:
        numbers = [n for n, line in enumerate(self.lines, start=1) if _TITLE_LIKE.match(line)]
        if not numbers:
            last = next(line.strip() for line in reversed(self.lines) if line.strip())
            raise ParseError(
                f"{self._source}: expected a table of {PROGRAM}, found no title such as 'Send BW "
                f"Test'; the output ends with {last[:120]!r}"
            )
        if len(numbers) > 1:
            raise self._error(
                numbers[1], "expected one table, found a second title: outputs are mixed up"
            )
        match = _TITLE.match(self.lines[numbers[0] - 1])
        if not match:
            raise self._error(
                numbers[0],
                f"expected the title of a known test, found {self.lines[numbers[0] - 1].strip()!r}",
            )
        return match, numbers[0]

    def find_columns(self, title: int) -> tuple[int, int]:
        """Number of the line with the column names, and of the line after it."""
        numbers = [
            n for n, line in enumerate(self.lines, start=1) if line.lstrip().startswith("#bytes")
        ]
        if len(numbers) != 1 or numbers[0] < title:
            raise ParseError(
                f"{self._source}: expected one line of column names below the title, found "
                f"{len(numbers)}: the output is cut, damaged or mixed"
            )
        for number, line in enumerate(self.lines[: numbers[0]], start=1):
            if _ROW_START.match(line):
                raise self._error(number, f"expected no row before the columns, found {line!r}")
        return numbers[0], numbers[0] + 1

    def read_settings(self, begin: int, end: int) -> Iterator[tuple[str, str]]:
        for line in self.lines[begin - 1 : end - 1]:
            if line.lstrip().startswith(("local address", "remote address", "GID:")):
                continue
            if events := _EVENTS_LINE.match(line):
                yield _EVENTS, events["value"]
            for part in re.split(r"\t\t+", line):
                if match := _SETTING.match(part.rstrip()):
                    yield match["key"].strip(), match["value"].strip().removesuffix("[B]")

    def read_columns(self, number: int, kind: str) -> list[_Column]:
        columns = []
        rest = self.lines[number - 1].strip()
        while match := _COLUMN_TITLE.match(rest):
            columns.append(_COLUMNS[match[0]])
            rest = rest[match.end() :].lstrip()
        if rest:
            raise self._error(number, f"expected the name of a known column, found {rest!r}")
        titles = ", ".join(column.title for column in columns)
        metric = Metric.LATENCY if kind == "lat" else Metric.BANDWIDTH
        statistics = {column.statistic for column in columns if column.metric is metric}
        if (
            columns[:2] != [_SIZE, _ITERATIONS]
            or len(set(columns)) != len(columns)
            or not statistics >= _REQUIRED[kind]
            or (kind == "bw") != (_RATE in columns)
        ):
            raise self._error(
                number,
                f"expected the columns of a {metric} test, found {titles}: the line is damaged, or "
                "the test ran for a duration (-D), which has no percentiles",
            )
        return columns

    def find_end(self, body: int) -> int:
        """Number of the line of dashes below the rows; nothing that could be a row follows it."""
        for number, line in enumerate(self.lines[body - 1 :], start=body):
            if _RULE.match(line):
                self._refuse_rows_after(number)
                if number == len(self.lines):
                    break
                return number
        raise ParseError(
            f"{self._source}: expected a line of dashes below the rows, found none: the table is "
            "cut, the client was ended or still runs"
        )

    def _refuse_rows_after(self, end: int) -> None:
        for number, line in enumerate(self.lines[end:], start=end + 1):
            if _ROW_START.match(line):
                raise self._error(
                    number, f"expected no row below the table, found {line.strip()[:120]!r}"
                )

    def read_row(self, number: int, columns: Sequence[_Column], kind: str) -> Point:
        line = self.lines[number - 1]
        words = line.split()
        if len(words) != len(columns):
            raise self._error(
                number,
                f"expected a row of {len(columns)} numbers, found {line.strip()[:120]!r}: the row "
                "is cut or mixed with other output",
            )
        cells = dict(zip(columns, words, strict=True))
        size, iterations = (
            self._whole_number(number, column, cells[column]) for column in (_SIZE, _ITERATIONS)
        )
        values = {
            (column.metric, column.statistic): self._value(number, column, word) * column.factor
            for column, word in cells.items()
            if column.metric is not None
        }
        if kind == "bw":
            self._reconcile(number, size, values, cells)
        else:
            self._check_latencies(number, values)
        return Point(size, MappingProxyType(values), iterations, None)

    def _reconcile(
        self,
        number: int,
        size: int,
        values: dict[tuple[Metric, str], float],
        cells: Mapping[_Column, str],
    ) -> None:
        """Hold bandwidth and message rate against each other, and take both from the finer one.

        The program prints the same measurement twice, each rounded: a bandwidth of 2-byte messages
        has one digit left, a rate of 8 MiB messages as well.
        """
        bandwidth, rate = values[Metric.BANDWIDTH, "avg"], values[Metric.MESSAGE_RATE, "avg"]
        column = next(c for c in cells if c.metric is Metric.BANDWIDTH and c.statistic == "avg")
        bandwidth_step = _half_digit(cells[column]) * column.factor
        rate_step = _half_digit(cells[_RATE]) * _RATE.factor
        if not bandwidth and not rate:
            raise self._error(number, "expected a bandwidth above zero, found none")
        of_rate, of_rate_step = rate * size / _MEGA, rate_step * size / _MEGA
        if abs(bandwidth - of_rate) > (bandwidth_step + of_rate_step) * 1.001:
            raise self._error(
                number,
                f"expected {column.title} and {_RATE.title} to agree, found {cells[column]} and "
                f"{cells[_RATE]} for {size} B: the row is damaged",
            )
        finer = bandwidth if bandwidth_step <= of_rate_step else of_rate
        values[Metric.BANDWIDTH, "avg"] = finer
        values[Metric.MESSAGE_RATE, "avg"] = finer * _MEGA / size
        if not values[Metric.BANDWIDTH, "max"]:
            del values[Metric.BANDWIDTH, "max"]  # not measured above 20000 iterations

    def _check_latencies(self, number: int, values: Mapping[tuple[Metric, str], float]) -> None:
        rising = [
            values[Metric.LATENCY, name] for name in _RISING if (Metric.LATENCY, name) in values
        ]
        if min(values.values()) <= 0:
            raise self._error(number, "expected latencies above zero, found zero")
        if rising != sorted(rising):
            raise self._error(
                number,
                f"expected minimum, median, percentiles and maximum in rising order, found "
                f"{rising}: the row is damaged",
            )

    def _value(self, number: int, column: _Column, word: str) -> float:
        value = float(word) if _NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise self._error(
                number,
                f"expected a finite number, not negative, as {column.title}, found {word!r}",
            )
        return value

    def _whole_number(self, number: int, column: _Column, word: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(word) or not int(word):
            raise self._error(
                number, f"expected a whole number above zero as {column.title}, found {word!r}"
            )
        return int(word)

    def _error(self, number: int, message: str) -> ParseError:
        return ParseError(f"{self._source}: line {number}: {message}")


def _half_digit(word: str) -> float:
    """Half of what the last digit of a number counts."""
    _, _, decimals = word.partition(".")
    return float(0.5 * 10 ** -len(decimals))
