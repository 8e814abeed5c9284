"""The columns of the history."""

from collections.abc import Mapping
from typing import Final

import polars as pl
from polars._typing import PolarsDataType

Schema = Mapping[str, PolarsDataType]

CASE: Final[Schema] = {
    "system": pl.String,
    "partition": pl.String,
    "environ": pl.String,
    "check": pl.String,
    "benchmark": pl.String,
    "transport": pl.String,
    "num_nodes": pl.Int32,
    "layout": pl.String,
    "ranks": pl.Int32,
    "ranks_per_node": pl.Int32,
    "binding": pl.String,
    "program": pl.String,
    "options": pl.String,
}
"""What the series of one case have in common: they are measured by the same jobs."""

POINT: Final[Schema] = {
    "metric": pl.String,
    "statistic": pl.String,
    "size": pl.Int64,
    "unit": pl.String,
}

KEY: Final[Schema] = {**CASE, **POINT}
"""What makes a series: the fields of SeriesKey, in its order."""

PROVENANCE: Final[Schema] = {
    "mpi": pl.String,
    "mpi_version": pl.String,
    "ucx_version": pl.String,
    "program_version": pl.String,
    "node_list": pl.String,
    "commit": pl.String,
    "reference_kind": pl.String,
}
"""With what a value was measured."""

FACTS: Final[Schema] = {
    "time": pl.Datetime("us", "UTC"),
    "value": pl.Float64,
    "level": pl.String,
    "result": pl.String,
    "job": pl.String,
    "repeat": pl.UInt32,
    "reference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "warning_lower": pl.Float64,
    "warning_upper": pl.Float64,
    "finding": pl.String,
}
"""What differs from value to value. ``repeat`` is the repetition within a session."""

COLUMNS: Final[Schema] = {**KEY, "session": pl.String, **FACTS, **PROVENANCE}
"""The columns of the history as it is exported; ``session`` is the run of ReFrame."""
