"""Selections of series: which fields must have which values, and since when."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history.frame import CASE, KEY, POINT
from fabricheck.units import parse_size

_COUNT: Final = re.compile(r"[0-9]{1,18}")
_LARGEST: Final = 2**63 - 1
_COUNTS: Final = {
    "num_nodes": "a number of nodes",
    "ranks": "a number of ranks",
    "ranks_per_node": "a number of ranks",
}
_SHORT: Final = {"environment": "environ", "nodes": "num_nodes"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which values are wanted; without anything: all.

    Attributes:
        fields: for fields of SeriesKey the values that they may have.
        since: no value before this time.
        until: no value from this time on.
    """

    fields: dict[str, tuple[str | int, ...]] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def read(
        cls, terms: Iterable[str], since: datetime | None = None, until: datetime | None = None
    ) -> "Selection":
        """The selection that terms such as ``benchmark=latency,bw`` or ``size=1KiB`` name.

        Raises:
            FabricheckError: for a term that is no such, an unknown field or a value of no size.
        """
        fields: dict[str, tuple[str | int, ...]] = {}
        for term in terms:
            name, equals, values = term.partition("=")
            name = _SHORT.get(name, name)
            if not equals or name not in KEY:
                raise FabricheckError(
                    f"FC0701 expected FIELD=VALUE[,VALUE] with a field of {', '.join(KEY)}, found "
                    f"{term!r}"
                )
            fields[name] = (*fields.get(name, ()), *(_value(name, v) for v in values.split(",")))
        return cls(fields, since, until)

    def of_cases(self, cases: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of cases that are wanted."""
        if self.since:
            cases = cases.filter(pl.col("time") >= self.since)
        if self.until:
            cases = cases.filter(pl.col("time") < self.until)
        return self._with_fields(cases, CASE)

    def of_points(self, samples: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of samples that are wanted."""
        return self._with_fields(samples, POINT)

    def _with_fields(self, rows: pl.LazyFrame, names: Iterable[str]) -> pl.LazyFrame:
        for name in names:
            if name in self.fields:
                rows = rows.filter(pl.col(name).is_in(self.fields[name]))
        return rows


def _value(name: str, text: str) -> str | int:
    if name == "size":
        return int(text) if _COUNT.fullmatch(text) else min(parse_size(text), _LARGEST)
    if name not in _COUNTS:
        return text
    if not _COUNT.fullmatch(text):
        raise FabricheckError(
            f"FC0702 expected {_COUNTS[name]}, found {text!r}: write a whole number"
        )
    return int(text)
