"""The columns of the history, and what every reader gives: frames with these columns."""

from collections.abc import Mapping
from typing import Final

import polars as pl
from polars._typing import PolarsDataType

Schema = Mapping[str, PolarsDataType]

KEY: Final[Schema] = {
    "system": pl.String,
    "partition": pl.String,
    "environ": pl.String,
    "check": pl.String,
    "benchmark": pl.String,
    "placement": pl.String,
    "transport": pl.String,
    "num_nodes": pl.Int32,
    "ranks": pl.Int32,
    "program": pl.String,
    "metric": pl.String,
    "statistic": pl.String,
    "size": pl.Int64,
    "unit": pl.String,
}
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
"""What differs from value to value. ``time`` and ``job`` with the series say which value it is.
``repeat`` is the repetition within a session (``reframe --repeat``)."""

SESSION: Final[Schema] = {"session": pl.String}
"""Which run of ReFrame measured a value; empty where the record does not say."""

COLUMNS: Final[Schema] = {**KEY, **SESSION, **FACTS, **PROVENANCE}
"""The columns of the history as it is exported."""

READ: Final[Schema] = {"line": pl.UInt32, **COLUMNS}
"""The columns that a reader gives: where each value stands, and everything else."""


def empty() -> pl.DataFrame:
    """A frame of no values."""
    return pl.DataFrame(schema=READ)
