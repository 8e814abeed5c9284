"""Strict reading of one table: its column line and its rows."""

import re
from types import MappingProxyType

from fabricheck.benchmarks.curve import Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import MpiBenchmark
from fabricheck.benchmarks.osu.columns import (
    Column,
    Role,
    as_bandwidths,
    is_column_line,
    read_columns,
)
from fabricheck.benchmarks.parser import ParseError
from fabricheck.benchmarks.registry import next_size
from fabricheck.benchmarks.rows import Rows

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
_AGAIN = "run the benchmark again with its output in a file of its own"


class Table(Rows):
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
                f"{self._source}: expected a line that names the columns after the title of "
                f"{self._benchmark.osu_program}, found none: the output is cut or damaged"
            )
        if not self.points:
            raise ParseError(
                f"{self._source}: expected rows after the column line, found none: the sweep is "
                "empty, so the program was ended before its first message size or given no size"
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
        self.points.append(Point(size, MappingProxyType(values), iterations, valid))
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
