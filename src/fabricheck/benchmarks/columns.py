"""The columns of the programs' tables, found by the names in the column line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from fabricheck.benchmarks.model import Metric


class Role(StrEnum):
    """What a column that holds no measured value tells."""

    SIZE = "Size"
    ITERATIONS = "Iterations"
    VALIDATION = "Validation"


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
            Column("Min Latency(us)", metric=Metric.LATENCY, statistic="min"),
            Column("Max Latency(us)", metric=Metric.LATENCY, statistic="max"),
            Column("Bandwidth (MB/s)", metric=Metric.BANDWIDTH, statistic="avg"),
            Column("MB/s", metric=Metric.BANDWIDTH, statistic="avg"),
            Column("Messages/s", metric=Metric.MESSAGE_RATE, statistic="avg"),
        )
    }
)
_TAIL = re.compile(r"P(?P<percentile>\d{1,3}(?:\.\d+)?) Tail (?P<kind>Lat\(us\)|BW\(MB/s\))")
_TITLE = re.compile("|".join([*(re.escape(title) for title in _FIXED), _TAIL.pattern]))
_FIRST_WORDS = frozenset({"Size", "Avg", "Latency"})


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
    return Column(title, metric=metric, statistic=f"p{tail['percentile']}")
