"""The columns of the history."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

import polars as pl
from polars._typing import PolarsDataType

from fabricheck.record.entries import Setup

Schema = Mapping[str, PolarsDataType]

CASE: Final[Schema] = {
    each.name: pl.String if each.type is str else pl.Int32 for each in fields(Setup)
}
"""What the series of one case have in common: they are measured by the same jobs."""

POINT: Final[Schema] = {
    **dict.fromkeys(("metric", "statistic"), pl.String),
    "size": pl.Int64,
    "unit": pl.String,
}

KEY: Final[Schema] = {**CASE, **POINT}
"""What makes a series: the fields of SeriesKey, in its order."""

PROVENANCE: Final[Schema] = dict.fromkeys(
    (
        *("mpi", "mpi_version", "ucx_version", "program_version"),
        *("node_list", "commit", "reference_kind"),
    ),
    pl.String,
)
"""With what a value was measured."""

FACTS: Final[Schema] = {
    "time": pl.Datetime("us", "UTC"),
    "value": pl.Float64,
    **dict.fromkeys(("level", "result", "job"), pl.String),
    "repeat": pl.UInt32,
    **dict.fromkeys(("reference", "lower", "upper", "warning_lower", "warning_upper"), pl.Float64),
    "finding": pl.String,
}
"""What differs from value to value. ``repeat`` is the repetition within a session."""

COLUMNS: Final[Schema] = {**KEY, "session": pl.String, **FACTS, **PROVENANCE}
"""The columns of the history as it is exported; ``session`` is the run of ReFrame."""
