"""The columns of the programs' tables, found by the names in the column line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from fabricheck.benchmarks.metrics import Metric


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


_FIXED: Mapping[str, Column] = MappingProxyType(
    {
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
)
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
