"""Strict reading of the table that ``mpi_matmul`` prints.

It has a title, ``# Key: value`` lines, a line of column names, a row for each phase of each order,
and an end mark that tells the number of orders: nothing can be cut without a trace.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS, PHASES, PROGRAM, benchmark_name
from fabricheck.benchmarks.parser import ParseError

_TITLE_LIKE = re.compile(rf"^#\s+{PROGRAM}\b")
_TITLE = re.compile(rf"^# {PROGRAM} MPI Matrix Multiplication v(?P<version>\d[\w.+-]*)$")
_METADATA = re.compile(r"^# (?P<key>[A-Z]\w*): (?P<value>.+)$")
_COLUMNS = (
    *("N", "Phase", "Repetitions"),
    *("Min(us)", "Avg(us)", "P50(us)", "P95(us)", "Max(us)", "Variation"),
    *("Bytes", "GB/s", "GFlop/s"),
)
_VALIDATION = "Validation"
_STATISTICS = ("min", "avg", "p50", "p95", "max")
_PRINTED_ORDER = ("transfer_a", "broadcast_b", "compute", "transfer_c", "total")
_ROW = re.compile(r"^\d{1,9}\s+(?:" + "|".join(_PRINTED_ORDER) + r")\b", re.ASCII)
_NUMBER = re.compile(r"^\d{1,20}(?:\.\d{1,20})?$", re.ASCII)
_INTERRUPTED = re.compile(r"^# Interrupted: (?P<how>.+)$")
_AGAIN = "run it again with its output in a file of its own"


@dataclass(frozen=True, slots=True)
class _Row:
    """One phase of one order."""

    order: int
    phase: str
    repetitions: int
    values: tuple[float, ...]
    variation: float
    valid: bool | None


def is_output(text: str) -> bool:
    """Whether a text is meant to be what ``mpi_matmul`` printed."""
    return any(_TITLE_LIKE.match(line) for line in text.split("\n"))


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of one run, its sizes the orders of the matrices; its table says which it is.

    Raises:
        ParseError: if there is more than one table, or one that is empty, damaged, cut or ended
            early, if a product was wrong, or if the registry has no such benchmark.
    """
    del name
    return _Reader(text, source).read()


class _Reader:
    """Goes through the lines of one output."""

    def __init__(self, text: str, source: str) -> None:
        self._lines = text.split("\n")
        self._source = source
        self._version = ""
        self._metadata: dict[str, str] = {}
        self._has_columns = False
        self._checks = False
        self._rows: list[_Row] = []
        self._ended = False

    def read(self) -> Curve:
        for number, line in enumerate(self._lines, start=1):
            self._take(number, line.rstrip())
        if not self._ended:
            self._refuse(
                len(self._lines), "expected the end mark '# Complete', found none: the table is cut"
            )
        points = self._points()
        mode, ranks = self._metadata.get("Mode", "none"), self._metadata.get("Ranks", "none")
        name = benchmark_name(mode, int(ranks) if re.fullmatch(r"\d{1,9}", ranks, re.ASCII) else 0)
        if name not in BENCHMARKS:
            raise ParseError(
                f"{self._source}: unknown benchmark: mode {mode} on {ranks} ranks; known are "
                f"{', '.join(BENCHMARKS)}"
            )
        return Curve(
            benchmark=name,
            program=PROGRAM,
            version=self._version,
            datatype=None,
            metadata=MappingProxyType(self._metadata),
            points=points,
            is_whole=True,
        )

    def _take(self, number: int, line: str) -> None:
        if _TITLE_LIKE.match(line):
            self._title(number, line)
        elif match := _INTERRUPTED.match(line):
            self._refuse(number, f"expected a whole run, found that it was ended: {match['how']}")
        elif line.startswith("DATA VALIDATION ERROR"):
            self._refuse(number, "expected right products, found a wrong one: data were corrupted")
        elif line.startswith("# Complete:"):
            self._end(number, line)
        elif line.startswith("# N "):
            self._columns(number, line)
        elif match := _METADATA.match(line):
            if self._version and not self._has_columns:
                self._metadata[match["key"]] = match["value"]
        elif _ROW.match(line):
            self._row(number, line.split())

    def _title(self, number: int, line: str) -> None:
        match = _TITLE.match(line)
        if not match:
            self._refuse(number, f"expected a title with a version, found {line!r}")
        if self._version:
            self._refuse(number, f"expected one table, found a second: {_AGAIN}")
        self._version = match["version"]

    def _columns(self, number: int, line: str) -> None:
        words = tuple(line.split()[1:])
        self._checks = words[-1:] == (_VALIDATION,)
        if self._has_columns or words != _COLUMNS + (_VALIDATION,) * self._checks:
            self._refuse(number, f"expected the columns {' '.join(_COLUMNS)}, found {line!r}")
        self._has_columns = True

    def _row(self, number: int, words: Sequence[str]) -> None:
        expected = len(_COLUMNS) + self._checks
        if not self._has_columns or self._ended or len(words) != expected:
            self._refuse(number, f"expected a row of {expected} columns, found {len(words)} words")
        if self._checks and words[-1] != "Pass":
            self._refuse(number, f"expected Pass as Validation, found {words[-1]!r}")
        values = tuple(self._number(number, word) for word in words[3:8])
        least, average, median, p95, greatest = values
        if not (least <= median <= p95 <= greatest and least <= average <= greatest):
            self._refuse(number, f"expected figures in rising order, found {' '.join(words[3:8])}")
        self._rows.append(
            _Row(
                order=int(words[0]),
                phase=words[1],
                repetitions=int(self._number(number, words[2])),
                values=values,
                variation=math.nan if words[8] == "-" else self._number(number, words[8]),
                valid=True if self._checks else None,
            )
        )

    def _number(self, number: int, word: str) -> float:
        if not _NUMBER.match(word):
            self._refuse(number, f"expected a number, found {word!r}: the row is damaged")
        return float(word)

    def _end(self, number: int, line: str) -> None:
        orders = len(dict.fromkeys(row.order for row in self._rows))
        if self._ended or line != f"# Complete: {orders} sizes" or not orders:
            self._refuse(
                number, f"expected '# Complete: {orders} sizes' once, found {line!r}: rows are lost"
            )
        self._ended = True

    def _points(self) -> tuple[Point, ...]:
        count = len(_PRINTED_ORDER)
        groups = [self._rows[start : start + count] for start in range(0, len(self._rows), count)]
        last = 0
        for group in groups:
            order, repetitions = group[0].order, group[0].repetitions
            found = [(row.phase, row.order, row.repetitions) for row in group]
            if found != [(phase, order, repetitions) for phase in _PRINTED_ORDER] or order <= last:
                raise ParseError(
                    f"{self._source}: N {order}: expected the phases {', '.join(_PRINTED_ORDER)} "
                    "of each order once, orders rising: rows are lost, repeated or out of order; "
                    + _AGAIN
                )
            last = order
        return tuple(_point(group) for group in groups)

    def _refuse(self, number: int, message: str) -> NoReturn:
        raise ParseError(f"{self._source}: line {number}: {message}")


def _point(rows: Sequence[_Row]) -> Point:
    by_phase = {row.phase: row for row in rows}
    values = {
        (phase, statistic): by_phase[phase].values[position]
        for phase in PHASES
        for position, statistic in enumerate(_STATISTICS)
    }
    variations = [row.variation for row in rows if row.phase != Metric.TOTAL]
    if not any(map(math.isnan, variations)):
        values[Metric.VARIATION, "max"] = max(variations)
    return Point(rows[0].order, MappingProxyType(values), rows[0].repetitions, rows[0].valid)
