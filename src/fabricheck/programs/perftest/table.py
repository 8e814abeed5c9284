"""One table of perftest's ``ib_*_lat`` and ``ib_*_bw`` programs, read line by line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import Rows, half_digit
from fabricheck.programs.perftest.entries import BENCHMARKS
from fabricheck.units import MIB

PROGRAM: Final = "perftest"

DEVICE = "Device"
CONNECTION = "Connection type"
MTU = "Mtu"
LINK = "Link type"
GID_INDEX = "GID index"
INLINE = "Max inline data"
BENCHMARK = "benchmark"
_QUEUE_PAIRS = "Number of qps"
_POST_LIST = "Post List"
_EVENTS = "Test with events"
_NEEDED = (DEVICE, _QUEUE_PAIRS, CONNECTION, MTU)

_TITLE = re.compile(
    r"^\s*(?P<verb>Send|RDMA_Write|RDMA_Read|Atomic)(?: FETCH_AND_ADD)?"
    r"(?P<both> Bidirectional)?(?: Post List)? (?P<kind>BW|Latency) Test$"
)
# The program's own title stands 20 columns in; a copy may have lost them.
TITLE_LIKE = re.compile(
    r"^(?:\s{10,}\S.*\b|\s*(?:Send|RDMA_Write|RDMA_Read|Atomic)\w*\b[\w ]*\b(?:BW|Latency) )Test$"
)
_OPERATIONS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}
_KINDS = {"BW": "bw", "Latency": "lat"}

# Two settings share a line, with tabs between them where no copy has made blanks of these.
_SETTING = re.compile(r"(?P<key>[A-Za-z][\w*.-]*(?: [\w*.-]+)*)\s*: (?P<value>\S+)")
_EVENTS_LINE = re.compile(r"^\s*Test with events\. Using (?P<value>\S+)$")
_WARNING = re.compile(r"warning|conflicting", re.IGNORECASE)
# Without a peak perftest says so; the average is what is recorded.
_HARMLESS = re.compile(r"BW peak won't be measured")
# What the program says on its error output while it measures, which a job's file may have among
# the rows.
_AMONG_ROWS = re.compile(r"^\s*(?:conflicting cpu frequency|warning\b)", re.IGNORECASE)
_RULE = re.compile(r"^\s*-{20,}$")
_ROW_LIKE = re.compile(r"^\s*\d+(?:\s+[+-]?(?:\d[\d.]*|nan|inf))+$", re.ASCII | re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)

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
                ("MB", MIB / _MEGA),
                ("MiB", MIB / _MEGA),
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
_OLDER = {
    "bw": "of before 2012, which prints no message rate",
    "lat": "of before August 2016, which prints no average and no percentiles",
}
_RISING = ("min", "p50", "p99", "p99.9", "max")


@dataclass(frozen=True, slots=True)
class PerftestTable:
    """One run's table."""

    benchmark: str
    settings: dict[str, str]
    points: list[Point]
    remarks: list[str]


def read_table(text: str, source: str) -> PerftestTable:
    """The table of one run.

    Args:
        text: the whole output of the run.
        source: what to call it in messages.

    Raises:
        ParseError: if it has no table, more than one, or one that is empty, damaged or cut.
    """
    if not text.strip():
        raise ParseError(
            f"FC1220 {source}: expected the output of {PROGRAM}, found nothing: the client did not "
            "start, or its output went elsewhere"
        )
    reader = _Reader([line.rstrip() for line in text.split("\n")], source)
    title, number = reader.find_title()
    head, body = reader.find_columns(number)
    settings = dict(reader.read_settings(number + 1, head))
    kind = _KINDS[title["kind"]]
    columns = reader.read_columns(head, kind)
    points = [
        reader.read_row(number, columns, kind)
        for number in range(body, reader.find_end(body))
        if not reader.is_remark(number)
    ]
    if not points:
        raise ParseError(
            f"FC1221 {source}: expected rows after the column names, found none: the test was "
            "ended before its first size was done, or this is the server's side, which prints none"
        )
    return PerftestTable(
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
    missing = [key for key in _NEEDED if key not in settings]
    if missing or not _WHOLE_NUMBER.fullmatch(settings[MTU]):
        raise ParseError(
            f"FC1222 {source}: expected the settings {', '.join(missing or [MTU])} below the "
            f"title, found {settings.get(MTU) if not missing else 'none'}: lines are missing or "
            "damaged"
        )
    if (_POST_LIST in title[0]) != (_POST_LIST in settings):
        raise ParseError(
            f"FC1223 {source}: expected {_POST_LIST} in the title and in the settings, found it in "
            "one: lines are missing, or outputs are mixed"
        )
    program = f"ib_{_OPERATIONS[title['verb']]}_{_KINDS[title['kind']]}"
    pairs = settings.get(_QUEUE_PAIRS, "1")
    options: tuple[str, ...] = ()
    options += () if pairs == "1" else ("-q", pairs)
    options += ("-l", settings[_POST_LIST]) if _POST_LIST in settings else ()
    options += ("-e",) if _EVENTS in settings else ()
    options += ("-b",) if title["both"] else ()
    for benchmark in BENCHMARKS.values():
        if (benchmark.program, benchmark.options) == (program, options):
            return benchmark.name
    raise ParseError(
        f"FC1224 {source}: expected a verbs benchmark of the registry, found {program} "
        f"{' '.join(options)}: take options away that no benchmark has"
    )


class _Reader(Rows):
    """The lines of one run; numbers count from 1."""

    def __init__(self, lines: list[str], source: str) -> None:
        super().__init__(source)
        self.lines = lines

    def find_title(self) -> tuple[re.Match[str], int]:
        numbers = [n for n, line in enumerate(self.lines, start=1) if TITLE_LIKE.match(line)]
        if not numbers:
            last = next(line.strip() for line in reversed(self.lines) if line.strip())
            raise ParseError(
                f"FC1225 {self._source}: expected a table of {PROGRAM}, found no title such as "
                f"'Send BW Test'; the output ends with {last[:120]!r}"
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
                f"FC1226 {self._source}: expected one line of column names below the title, found "
                f"{len(numbers)}: the output is cut, damaged or mixed, or has both sides' results"
            )
        for number, line in enumerate(self.lines[: numbers[0]], start=1):
            if _ROW_LIKE.match(line):
                raise self._error(number, f"expected no row before the columns, found {line!r}")
        return numbers[0], numbers[0] + 1

    def read_settings(self, begin: int, end: int) -> Iterator[tuple[str, str]]:
        for line in self.lines[begin - 1 : end - 1]:
            if line.lstrip().startswith(("local address", "remote address", "GID:")):
                continue
            if events := _EVENTS_LINE.match(line):
                yield _EVENTS, events["value"]
            for match in _SETTING.finditer(line):
                yield match["key"], match["value"].removesuffix("[B]")

    def read_columns(self, number: int, kind: str) -> list[_Column]:
        columns = []
        rest = self.lines[number - 1].strip()
        while match := _COLUMN_TITLE.match(rest):
            columns.append(_COLUMNS[match[0]])
            rest = rest[match.end() :].lstrip()
        if rest == "tps average":
            raise self._error(
                number,
                "expected a latency test of a number of iterations (-n), found one of a duration "
                "(-D), which prints no median and no percentiles",
            )
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
                f"{PROGRAM} is {_OLDER[kind]}",
            )
        return columns

    def find_end(self, body: int) -> int:
        """Number of the line of dashes below the rows; nothing that could be a row follows it."""
        above = next((len(line) for line in self.lines[body - 3 :: -1] if _RULE.match(line)), 0)
        for number, line in enumerate(self.lines[body - 1 :], start=body):
            if _RULE.match(line):
                self._refuse_rows_after(number)
                if number == len(self.lines) and len(line) != above:
                    break
                return number
        raise ParseError(
            f"FC1227 {self._source}: expected a line of dashes below the rows, found none: the "
            "table is cut, the client was ended or still runs, or a copy left the dashes out"
        )

    def _refuse_rows_after(self, end: int) -> None:
        for number, line in enumerate(self.lines[end:], start=end + 1):
            if _ROW_LIKE.match(line):
                raise self._error(
                    number, f"expected no row below the table, found {line.strip()[:120]!r}"
                )

    def is_remark(self, number: int) -> bool:
        """Whether a line among the rows is none: empty, or what the program warns of."""
        line = self.lines[number - 1]
        return not line or bool(_AMONG_ROWS.match(line))

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
            self._whole(number, column.title, cells[column], least=1)
            for column in (_SIZE, _ITERATIONS)
        )
        values = {
            (column.metric, column.statistic): self._value(number, column.title, word)
            * column.factor
            for column, word in cells.items()
            if column.metric is not None
        }
        if kind == "bw":
            self._reconcile(number, size, values, cells)
        else:
            self._check_latencies(number, values)
        return Point(size, values, iterations, None)

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
        bandwidth_step = half_digit(cells[column]) * column.factor
        rate_step = half_digit(cells[_RATE]) * _RATE.factor
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
