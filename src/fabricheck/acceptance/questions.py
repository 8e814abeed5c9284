"""What is asked of the pairs: each series, case, transport and set of nodes, and what failed."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import polars as pl

from fabricheck.acceptance.answers import Missing, Question, Scope
from fabricheck.acceptance.pairs import (
    BY_LEVEL,
    CASE,
    LOGS,
    NODES,
    SIDES,
    TRANSPORT,
    paired,
    typical,
)
from fabricheck.history.frame import KEY
from fabricheck.history.sessions import BY_TIME
from fabricheck.judge.levels import Level
from fabricheck.trend.robust import Array

_HOSTS: Final = ("system", NODES)
# Polars takes members of an enumeration for values of a type of its own.
_FAILED: Final = (Level.CRITICAL.value, Level.UNTRUSTED.value)


def questions(
    values: pl.DataFrame, compared: pl.DataFrame, spreads: pl.DataFrame
) -> list[Question]:
    """All questions to the values of both sides.

    Args:
        values: all values: columns of the history and ``side``.
        compared: those of them that are compared, as ``pairs.compared`` gives them.
        spreads: how they scattered before the campaign, as ``sides.read_spreads`` gives it.
    """
    pairs = paired(compared)
    with_transport = pairs.filter(pl.col("transport") != "")
    on_hosts = compared.filter(pl.col("num_nodes") > 1, pl.col(NODES) != "")
    host_pairs = paired(on_hosts, (*CASE, NODES))
    return list(
        chain(
            _of_group(typical(with_transport, TRANSPORT), Scope.TRANSPORT, TRANSPORT),
            _of_group(typical(host_pairs, _HOSTS), Scope.NODES, _HOSTS),
            _of_group(typical(pairs, CASE), Scope.CASE, CASE),
            _of_series(pairs.join(spreads, on=list(KEY), how="left", nulls_equal=True)),
            _of_failures(values),
        )
    )


def missing(values: pl.DataFrame) -> list[Missing]:
    """Cases of which series have no value on one side: what was cut, failed or left out."""
    # A run that was not trusted may not say which program it was.
    case = [name for name in KEY if name != "program"]
    named = pl.when(pl.col("program") == "").then(pl.col("program").max().over(case))
    values = values.with_columns(named.otherwise("program").alias("program"))
    there = pl.col("value") > 0
    there |= pl.col("metric").is_in(BY_LEVEL) & pl.col("value").is_not_null()
    series = values.group_by(*KEY).agg(
        pl.col("session")
        .filter(there.fill_null(value=False), pl.col("side") == side)
        .n_unique()
        .alias(side)
        for side in SIDES
    )
    lacking = series.filter((pl.col("before") == 0) | (pl.col("after") == 0))
    cases = lacking.group_by(*CASE).agg(pl.len().alias("series"), pl.col(*SIDES).max())
    return [
        Missing(_fields(row, CASE), row["series"], row["before"], row["after"])
        for row in cases.sort(*CASE).iter_rows(named=True)
    ]


def _of_group(frame: pl.DataFrame, scope: Scope, by: Sequence[str]) -> Iterator[Question]:
    groups = frame.group_by(*by, maintain_order=True).agg(*LOGS, pl.col("margin").max())
    for row in groups.iter_rows(named=True):
        yield Question(scope, _fields(row, by), *_runs(row), row["margin"])


def _of_series(pairs: pl.DataFrame) -> Iterator[Question]:
    series = pairs.group_by(*KEY, maintain_order=True).agg(
        *LOGS, pl.col("margin", "worse", "spread").first(), pl.col("before", "after").median()
    )
    for row in series.iter_rows(named=True):
        yield Question(
            Scope.SERIES,
            _fields(row, tuple(KEY)),
            *_runs(row),
            row["margin"],
            two_sided=row["worse"] == 0,
            before=row["before"],
            after=row["after"],
            unit=row["unit"],
            spread=row["spread"] or 0.0,
        )


def _of_failures(values: pl.DataFrame) -> Iterator[Question]:
    """Runs of each case in which a value was critical, was not proved, or was not there.

    A case that fails early leaves no line. So a run of its partition without it counts as failed,
    unless no run of that side has the case at all: then it may not have been asked for. Of another
    suite's logs nobody knows what was asked for in a run that only its time tells.
    """
    by_result = (pl.col("level") == "") & (pl.col("result") == "fail")
    failed = pl.col("level").is_in(_FAILED) | pl.col("value").is_null() | by_result
    critical = (pl.col("level") == Level.CRITICAL.value).any().alias("critical")
    cases = values.group_by(*CASE, "side", "session").agg(failed.any().alias("failed"), critical)
    sides = {side: pl.col("failed").filter(pl.col("side") == side) for side in SIDES}
    counts = cases.group_by(*CASE).agg(
        *((~rows).sum().alias(f"good_{side}") for side, rows in sides.items()),
        *(rows.len().alias(side) for side, rows in sides.items()),
        pl.col("critical").filter(pl.col("side") == "after").sum(),
    )
    place = ("system", "partition")
    recorded = ~pl.col("session").str.contains(BY_TIME)
    runs = values.group_by(*place).agg(
        pl.col("session").filter(pl.col("side") == side, recorded).n_unique().alias(f"runs_{side}")
        for side in SIDES
    )
    for row in counts.join(runs, on=place).sort(*CASE).iter_rows(named=True):
        failed_runs = (*_failed_runs(row, "before"), *_failed_runs(row, "after"))
        which = (Scope.FAILURES, _fields(row, CASE), np.empty(0), np.empty(0), 0.0)
        yield Question(*which, failed=failed_runs, critical=row["critical"])


def _failed_runs(row: dict[str, Any], side: str) -> tuple[int, int]:
    """Failed runs and all runs of a side."""
    runs = max(row[f"runs_{side}"], row[side]) if row[side] else 0
    return runs - row[f"good_{side}"], runs


def _runs(row: dict[str, Any]) -> tuple[Array, Array]:
    before, after = (np.array(row[name]) for name in LOGS)
    return before, after


def _fields(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}
