"""ucx_perftest: its batch file, and the strict reading of the table that it prints in batch mode.

Every size is one line of a batch file, which one server and one client both run (``-b FILE``). With
``-f -v`` the client prints a line of comma-separated values for each, named after its line in the
file; these columns are the same from UCX 1.12 to 1.22. A test that fails inside the batch leaves no
line and no exit code, and no end is marked: pass the curve to ``check_complete``.
"""

import re
from collections.abc import Mapping
from typing import Final

from fabricheck.errors import ParseError
from fabricheck.measures.benchmark import ProgramBenchmark
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import Rows
from fabricheck.programs.ucx_perftest.entries import BENCHMARKS
from fabricheck.units import MIB

PROGRAM: Final = "ucx_perftest"
OUTPUT_OPTIONS = ("-f", "-v")
"""Final numbers only, as comma-separated values: what ``parse`` reads."""

_BATCH_SUFFIX = ".batch"
_HEADER = re.compile(r"(?P<file>[^,\s]+),(?P<columns>iterations,.*)")
_PERCENTILE = re.compile(r"(?P<rank>\d{1,3}\.\d)_percentile_lat")
_NAME = re.compile(r"(?P<benchmark>\w+):(?P<size>\d{1,18})", re.ASCII)
# A part of a line that has so many commas can be a damaged row, and no log line of UCX.
_COMMAS_OF_A_ROW = 4
_LOG_LINE = re.compile(r"\[\d+\.\d+\] \[")

# Averages "since the last report" have no meaning in a final line, and are nan where nothing
# followed that report.
_REQUIRED = ("iterations", "overall_lat", "overall_bw", "overall_mr")
_IGNORED = ("avg_lat", "avg_bw", "avg_mr")
_MEDIAN_BEFORE_1_12 = "typical_lat"

_MEGA = 1_000_000
# What the printed digits leave open: latencies have three decimals, bandwidths two, rates none.
_LATENCY_STEP, _BANDWIDTH_STEP, _RATE_STEP = 0.001, 0.01, 1.0

_WARM_UP_SHARE = 10


def batch_name(benchmark: str) -> str:
    """Name of a benchmark's batch file, which the program prints in the head of its table."""
    return f"{benchmark}{_BATCH_SUFFIX}"


def batch(benchmark: ProgramBenchmark, iterations: Mapping[int, int]) -> str:
    """The batch file of a sweep: a line for each size, named so that ``parse`` knows it again.

    Args:
        benchmark: a benchmark of the family ``ucx``.
        iterations: iterations for each size in bytes, in the order of the sweep.
    """
    return "".join(
        f"{benchmark.name}:{size} {' '.join(benchmark.options)} -s {size} -n {count} "
        f"-w {max(1, count // _WARM_UP_SHARE)}\n"
        for size, count in iterations.items()
    )


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a client printed in batch mode."""
    return any(_HEADER.match(line) for line in text.split("\n"))


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve that a client printed in batch mode; its table says which benchmark it is.

    Raises:
        ParseError: if there is no table, more than one, or one that is empty, damaged or cut.
    """
    if not text.strip():
        raise ParseError(
            f"FC1245 {source}: expected the output of {PROGRAM}, found nothing: the client did not "
            "start, or its output went elsewhere"
        )
    lines = [line.rstrip() for line in text.split("\n")]
    head = _find_head(lines, source)
    table = _Table(source, head, lines[head - 1])
    for number, line in enumerate(lines, start=1):
        if number != head and _can_be_row(line):
            table.read_row(number, line)
    if not table.points:
        raise ParseError(
            f"FC1246 {source}: expected rows after the head of the table, found none: every test "
            "of the batch failed, or the client was ended before the first was done"
        )
    if lines[-1]:
        raise ParseError(
            f"FC1247 {source}: line {len(lines)}: expected a line end after the last line, found "
            "none: the output is cut"
        )
    return Curve(table.benchmark, PROGRAM, points=tuple(table.points))


def _find_head(lines: list[str], source: str) -> int:
    heads = [number for number, line in enumerate(lines, start=1) if _HEADER.fullmatch(line)]
    if len(heads) == 1:
        return heads[0]
    if heads:
        raise ParseError(
            f"FC1248 {source}: expected one table, found {len(heads)} (heads at lines "
            f"{', '.join(map(str, heads))}): the outputs of several runs were put together"
        )
    if any(line.startswith("|") and "# iterations" in line for line in lines):
        raise ParseError(
            f"FC1249 {source}: expected comma-separated values, found {PROGRAM}'s table for "
            "people, which names no sizes: run it with -b FILE -f -v"
        )
    last = next(line.strip() for line in reversed(lines) if line.strip())
    raise ParseError(
        f"FC1250 {source}: expected the table of {PROGRAM} -b FILE -f -v, found no line that names "
        f"its columns (FILE,iterations,...); the output ends with {last[:120]!r}"
    )


def _can_be_row(line: str) -> bool:
    if _LOG_LINE.match(line):
        return False
    return line.startswith("ucx_") or line.count(",") >= _COMMAS_OF_A_ROW


class _Table(Rows):
    """The columns and rows read so far."""

    def __init__(self, source: str, head_number: int, head: str) -> None:
        super().__init__(source)
        self.points: list[Point] = []
        self._head_number = head_number
        match = _HEADER.fullmatch(head)
        assert match is not None, "the head was found by this pattern"
        name = match["file"].removesuffix(_BATCH_SUFFIX)
        known = list(BENCHMARKS)
        if name not in known:
            raise self._error(
                head_number,
                f"unknown benchmark {name!r}: expected the name of one as the name of the batch "
                f"file, of {', '.join(known)}",
            )
        self.benchmark = name
        self._columns = match["columns"].split(",")
        self._median = self._find_median()

    def read_row(self, number: int, line: str) -> None:
        """Take a row.

        Raises:
            ParseError: if it is damaged, out of order, or contradicts itself.
        """
        if number < self._head_number:
            raise self._error(
                number, f"expected the head of the table before any row, found {line[:120]!r}"
            )
        name, *words = line.split(",")
        if words and words[0].lstrip().startswith("[thread"):
            raise self._error(
                number, "expected final numbers only, found a report in mid-run: run with -f"
            )
        if len(words) != len(self._columns):
            raise self._error(
                number,
                f"expected {len(self._columns) + 1} columns (name,{','.join(self._columns)}), "
                f"found {len(words) + 1} in {line[:120]!r}: the row is cut or mixed with other "
                "output",
            )
        size = self._read_name(number, name)
        self._check_order(number, size)
        cells = dict(zip(self._columns, (word.lstrip(" ") for word in words), strict=True))
        self.points.append(self._point(number, size, cells))

    def _find_median(self) -> tuple[str, str]:
        """The percentile's column and statistic; refuses columns that nobody knows."""
        found = [c for c in self._columns if _PERCENTILE.fullmatch(c) or c == _MEDIAN_BEFORE_1_12]
        unknown = [c for c in self._columns if c not in (*_REQUIRED, *_IGNORED, *found)]
        missing = [c for c in _REQUIRED if self._columns.count(c) != 1]
        if len(found) != 1 or unknown or missing:
            raise self._error(
                self._head_number,
                f"expected the columns of {PROGRAM} (iterations,50.0_percentile_lat,avg_lat,"
                "overall_lat,avg_bw,overall_bw,avg_mr,overall_mr), each once, found "
                f"{','.join(self._columns)[:160]!r}",
            )
        match = _PERCENTILE.fullmatch(found[0])
        rank = float(match["rank"]) if match else 50.0
        return found[0], f"p{rank:g}"

    def _read_name(self, number: int, name: str) -> int:
        match = _NAME.fullmatch(name)
        if not match or match["benchmark"] != self.benchmark:
            raise self._error(
                number,
                f"expected a row named {self.benchmark}:SIZE, found {name[:80]!r}: the row is cut "
                "or mixed with other output",
            )
        return int(match["size"])

    def _check_order(self, number: int, size: int) -> None:
        previous = self.points[-1].size if self.points else None
        if previous is not None and size <= previous:
            raise self._error(
                number,
                f"expected a size greater than {previous}, found {size}: rows are repeated or out "
                "of order",
            )

    def _point(self, number: int, size: int, cells: Mapping[str, str]) -> Point:
        iterations = self._whole(number, "iterations", cells["iterations"], least=1)
        latency, bandwidth, printed_rate = (
            self._value(number, column, cells[column])
            for column in ("overall_lat", "overall_bw", "overall_mr")
        )
        median_column, median_statistic = self._median
        median = self._value(number, median_column, cells[median_column])
        rate = _finer_rate(latency, printed_rate)
        if not _agree(size, rate, latency, bandwidth, printed_rate):
            raise self._error(
                number,
                f"expected latency, bandwidth and message rate to agree, found {latency} "
                f"us, {bandwidth} MiB/s and {printed_rate:.0f}/s at {size} B: the row is damaged",
            )
        return Point(size, self._values(size, rate, latency, median_statistic, median), iterations)

    def _values(
        self, size: int, rate: float, latency: float, statistic: str, percentile: float
    ) -> dict[tuple[Metric, str], float]:
        if Metric.LATENCY in BENCHMARKS[self.benchmark].metrics:
            return {(Metric.LATENCY, "avg"): latency, (Metric.LATENCY, statistic): percentile}
        return {
            (Metric.BANDWIDTH, "avg"): size * rate / _MEGA,
            (Metric.MESSAGE_RATE, "avg"): rate,
        }


def _finer_rate(latency: float, printed_rate: float) -> float:
    """Messages per second, from the column that shows more digits of it.

    The program prints its bandwidth in 2^20 B/s with two decimals, which is 0.00 for small messages
    on a slow path. Latency and rate are the same measurement, 1/t, with more digits, so bandwidths
    are reckoned from them.
    """
    if not latency:
        return printed_rate
    from_latency = _MEGA / latency
    if not printed_rate or _LATENCY_STEP / latency < _RATE_STEP / printed_rate:
        return from_latency
    return printed_rate


def _agree(size: int, rate: float, latency: float, bandwidth: float, printed_rate: float) -> bool:
    """Whether the three columns agree within the digits that they have."""
    if not rate:
        return False
    period = _MEGA / rate
    # The rate itself is only as good as the column that it comes from.
    doubt = min(_LATENCY_STEP / period, _RATE_STEP / rate)
    expected_bandwidth = size * rate / MIB
    return (
        abs(latency - period) <= _LATENCY_STEP + doubt * period
        and abs(printed_rate - rate) <= _RATE_STEP + doubt * rate
        and abs(bandwidth - expected_bandwidth) <= _BANDWIDTH_STEP + doubt * expected_bandwidth
    )
