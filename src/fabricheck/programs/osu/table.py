"""Strict reading of one table: its column line and its rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fabricheck.errors import ParseError
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.curve import Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import Rows
from fabricheck.measures.registry import next_size


class Role(StrEnum):
    """What a column tells whose value is not kept as measured; ``part``: a part of another time."""

    SIZE = "Size"
    ITERATIONS = "Iterations"
    VALIDATION = "Validation"
    PART = "part"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: either a role or a measured value."""

    title: str
    role: Role | None = None
    metric: Metric | None = None
    statistic: str = ""


_FIXED: Mapping[str, Column] = {
    column.title: column
    for column in (
        Column("Size", role=Role.SIZE),
        Column("Iterations", role=Role.ITERATIONS),
        Column("Validation", role=Role.VALIDATION),
        Column("Avg Latency(us)", metric=Metric.LATENCY, statistic="avg"),
        Column("Latency (us)", metric=Metric.LATENCY, statistic="avg"),
        # Averages over the iterations, of the fastest and of the slowest rank.
        Column("Min Latency(us)", metric=Metric.LATENCY, statistic="rank_min"),
        Column("Max Latency(us)", metric=Metric.LATENCY, statistic="rank_max"),
        Column("Bandwidth (MB/s)", metric=Metric.BANDWIDTH, statistic="avg"),
        Column("MB/s", metric=Metric.BANDWIDTH, statistic="avg"),
        Column("Messages/s", metric=Metric.MESSAGE_RATE, statistic="avg"),
        # Of a non-blocking operation; its percentiles are those of Overall.
        Column("Overall(us)", metric=Metric.LATENCY, statistic="avg"),
        Column("Compute(us)", role=Role.PART),
        Column("Coll. Init(us)", role=Role.PART),
        Column("MPI_Test(us)", role=Role.PART),
        Column("MPI_Wait(us)", role=Role.PART),
        Column("Pure Comm.(us)", metric=Metric.COMMUNICATION, statistic="avg"),
        Column("Min Comm.(us)", metric=Metric.COMMUNICATION, statistic="rank_min"),
        Column("Max Comm.(us)", metric=Metric.COMMUNICATION, statistic="rank_max"),
        Column("Overlap(%)", metric=Metric.OVERLAP, statistic="avg"),
    )
}
_TAIL = re.compile(r"P(?P<percentile>\d{1,3}(?:\.\d+)?) Tail (?P<kind>Lat\(us\)|BW\(MB/s\))")
_TITLE = re.compile("|".join([*(re.escape(title) for title in _FIXED), _TAIL.pattern]))
_FIRST_WORDS = frozenset({"Size", "Avg", "Latency", "Overall(us)"})


def is_column_line(comment: str) -> bool:
    """Whether a comment (without its ``#``) is meant to name columns."""
    words = comment.split(maxsplit=1)
    return bool(words) and words[0] in _FIRST_WORDS


def read_columns(comment: str) -> tuple[list[Column], str]:
    """The columns that a column line names, and what is left where it stops to name any."""
    columns = []
    rest = comment.strip()
    while match := _TITLE.match(rest):
        columns.append(_column(match[0]))
        rest = rest[match.end() :]
        if rest and not rest[0].isspace():
            break
        rest = rest.lstrip()
    return columns, rest


def _column(title: str) -> Column:
    tail = _TAIL.fullmatch(title)
    if tail is None:
        return _FIXED[title]
    metric = Metric.LATENCY if tail["kind"].startswith("Lat") else Metric.BANDWIDTH
    statistic = "max" if tail["percentile"] == "100" else f"p{tail['percentile']}"
    return Column(title, metric=metric, statistic=statistic)


def as_bandwidths(columns: Sequence[Column]) -> list[Column]:
    """Columns of OSU's congestion tests, whose header says latency above bandwidths in MB/s.

    Their subtype is unknown to the function that prints the header (``print_only_header`` of
    ``osu_util_mpi.c``, OSU 7.4).
    """
    return [
        replace(column, metric=Metric.BANDWIDTH) if column.metric is Metric.LATENCY else column
        for column in columns
    ]


_ROW_START = re.compile(
    r"^\s*[+-]?(?:\.?\d|(?:nan|inf|infinity)(?:\s|$))", re.ASCII | re.IGNORECASE
)
_VALIDATIONS = {
    "Pass": True,
    "Fail": False,
    # Of the one-sided atomics.
    "passed": True,
    "failed": False,
    "skipped": None,
}
_AGAIN = "run the benchmark again with its output in a separate file"


class OsuTable(Rows):
    """The columns and rows read so far.

    Attributes:
        columns: empty until the column line was read.
        points: one for each row.
        last_row: number of the line with the last row, 0 before the first.
    """

    NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)

    def __init__(self, source: str, benchmark: MpiBenchmark) -> None:
        super().__init__(source)
        self.columns: list[Column] = []
        self.points: list[Point] = []
        self.last_row = 0
        self._benchmark = benchmark

    @classmethod
    def is_full_row(cls, line: str) -> bool:
        """Whether a line is nothing but two or more numbers, which no other program prints."""
        words = line.split()
        return len(words) > 1 and all(cls.NUMBER.fullmatch(word) for word in words)

    def read_comment(self, number: int, line: str) -> bool:
        """Take a comment line if it names the columns; tells whether it did.

        Raises:
            ParseError: if a column is unknown, missing or named twice, or if the table has a
                column line already.
        """
        comment = line.lstrip("#")
        if not is_column_line(comment):
            return False
        if self.columns:
            raise self._error(
                number, "expected one column line, found a second: several tables are mixed up"
            )
        columns, rest = read_columns(comment)
        if rest:
            raise self._error(number, f"expected the name of a known column, found {rest!r}")
        if self._benchmark.family == "congestion":
            columns = as_bandwidths(columns)
        self._check_columns(number, columns)
        self.columns = columns
        return True

    def read_line(self, number: int, line: str) -> None:
        """Take a row; lines that cannot be one are skipped.

        Raises:
            ParseError: if the line looks like a damaged row.
        """
        if not _ROW_START.match(line):
            return
        words = line.split()
        if not self.columns:
            raise self._error(
                number,
                f"expected the line that names the columns before any row, found {line.strip()!r}",
            )
        if len(words) != len(self.columns):
            titles = ", ".join(column.title for column in self.columns)
            raise self._error(
                number,
                f"expected {len(self.columns)} columns ({titles}), found {len(words)} in "
                f"{line.strip()[:120]!r}: the row is cut or mixed with other output; {_AGAIN}",
            )
        self._add_point(number, dict(zip(self.columns, words, strict=True)))

    def finish(self, *, cut: bool) -> None:
        """Check what can be checked only at the end.

        Raises:
            ParseError: if there is no column line or no row, or if the last row is ``cut``.
        """
        if not self.columns:
            raise ParseError(
                f"FC1212 {self._source}: expected a line that names the columns after the title of "
                f"{self._benchmark.osu_program}, found none: the output is cut or damaged"
            )
        if not self.points:
            raise ParseError(
                f"FC1213 {self._source}: expected rows after the column line, found none: the "
                "sweep is empty, so the program was ended before its first message size or given "
                "no size"
            )
        if cut:
            raise self._error(
                self.last_row,
                "expected a line end after the last row, found none: the row may be cut",
            )

    def _check_columns(self, number: int, columns: list[Column]) -> None:
        titles = [column.title for column in columns]
        if repeated := {title for title in titles if titles.count(title) > 1}:
            raise self._error(number, f"column {', '.join(sorted(repeated))} is named twice")
        has_size = any(column.role is Role.SIZE for column in columns)
        needs_size = self._benchmark.min_size is not None
        measured = {column.metric for column in columns if column.statistic == "avg"}
        missing = ["Size"] if needs_size and not has_size else []
        missing += [f"average {m}" for m in self._benchmark.metrics if m not in measured]
        if missing:
            raise self._error(
                number,
                f"expected columns for {', '.join(missing)}, found {', '.join(titles)}: the "
                "column line is damaged or belongs to another benchmark",
            )
        foreign = {c.metric for c in columns if c.metric} - set(self._benchmark.metrics)
        if foreign or has_size != needs_size:
            raise self._error(
                number,
                f"columns {', '.join(titles)} do not belong to the benchmark "
                f"{self._benchmark.name}: lines of several tables are mixed up",
            )

    def _add_point(self, number: int, cells: dict[Column, str]) -> None:
        size = iterations = valid = None
        values: dict[tuple[Metric, str], float] = {}
        for column, word in cells.items():
            if column.metric is not None:
                values[column.metric, column.statistic] = self._value(number, column.title, word)
            elif column.role is Role.SIZE:
                size = self._whole(number, column.title, word)
                self._check_order(number, size)
            elif column.role is Role.ITERATIONS:
                iterations = self._whole(number, column.title, word)
            elif column.role is Role.VALIDATION:
                valid = self._validation(number, word)
            else:
                self._value(number, column.title, word)
        if size is None and self.points:
            raise self._error(number, "expected one row, found a second: outputs are mixed up")
        self.points.append(Point(size, values, iterations, valid))
        self.last_row = number

    def _check_order(self, number: int, size: int) -> None:
        if not self.points:
            return
        previous = self.points[-1].size
        if previous is None or size == next_size(previous):
            return
        if size <= previous:
            raise self._error(
                number,
                f"expected a size greater than {previous}, found {size}: rows are repeated or "
                f"out of order; {_AGAIN}",
            )
        raise self._error(
            number,
            f"expected size {next_size(previous)} after {previous}, found {size}: rows between "
            f"them are missing; {_AGAIN}",
        )

    def _validation(self, number: int, word: str) -> bool | None:
        if word not in _VALIDATIONS:
            raise self._error(number, f"expected Pass or Fail as Validation, found {word!r}")
        if _VALIDATIONS[word] is False:
            raise self._error(number, "data validation failed, the received data was wrong")
        return _VALIDATIONS[word]
