"""From the history's values to pairs: what a case gave before, and what it gave after.

A run counts once for each series, with the median of what it measured. The first run of a case
before is paired with its first run after, and so on in the order of time, so that in an interleaved
campaign the two of a pair are neighbours.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from fabricheck.acceptance.settings import Settings
from fabricheck.history import frame
from fabricheck.history.frame import KEY
from fabricheck.measures.metrics import Direction, Metric

SIDES: Final = ("before", "after")
"""Values of the column ``side``."""

LOGS: Final = ("log_before", "log_after")
"""Columns of the logarithms of what the two runs of a pair measured."""

TRANSPORT: Final = ("system", "transport")
"""Fields of a series that say which transport it belongs to."""

CASE: Final = tuple(name for name in frame.CASE if name not in ("program", "options"))
"""Fields of a series that say which case it belongs to, whatever program measured it."""

NODES: Final = "nodes"
"""Column with the hosts of a value: their names in order, separated by commas."""

BY_LEVEL: Final = tuple(metric.value for metric in Metric if not metric.row.is_compared)
"""Metrics whose values are not compared: their levels say how they are."""

IS_COMPARED: Final = ~pl.col("metric").is_in(BY_LEVEL) & (pl.col("value") > 0)
"""The values that are compared: a ratio needs values above 0."""


def compared(values: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """The values that are compared, with ``worse`` and ``margin`` and their ``nodes``.

    ``worse`` is 1 where higher values are worse, -1 where lower ones are, and 0 for a metric that
    the registry does not know: then any change beyond the margin counts.

    Args:
        values: columns of the history, and ``side``: ``before`` or ``after``.
        settings: the margins.
    """
    signs = {
        metric.value: 1 if metric.row.direction is Direction.LOWER else -1 for metric in Metric
    }
    statistics = values["statistic"].unique()
    margins = {each: settings.margin_of(each) for each in statistics}
    return values.filter(IS_COMPARED).with_columns(
        pl.col("metric").replace_strict(signs, default=0, return_dtype=pl.Int8).alias("worse"),
        pl.col("statistic")
        .replace_strict(margins, default=0.0, return_dtype=pl.Float64)
        .alias("margin"),
        pl.col("node_list").str.split(",").list.sort().list.join(",").alias(NODES),
    )


def paired(values: pl.DataFrame, within: Sequence[str] = CASE) -> pl.DataFrame:
    """Pairs of runs of each series.

    Args:
        values: as ``compared`` gives them.
        within: the fields that two runs of a pair share.

    Returns:
        The fields of the series and ``within``, ``worse``, ``margin``, ``pair`` (from 0),
        ``session_before``, ``session_after``, ``before`` and ``after`` (medians in the series'
        unit), and ``log_before`` and ``log_after``, their logarithms less what is typical of the
        series: greater is worse, or more where nobody knows what is worse.
    """
    fields = list(dict.fromkeys([*KEY, *within]))
    medians = values.group_by(*fields, "worse", "margin", "side", "session").agg(
        pl.col("value").median(), pl.col("time").min()
    )
    # The order of the runs is that of the case, so that its series have the same pairs.
    runs = medians.group_by(*within, "side", "session").agg(pl.col("time").min())
    runs = runs.sort("time", "session").with_columns(
        pl.int_range(pl.len()).over(*within, "side").alias("pair")
    )
    numbered = medians.drop("time").join(
        runs.drop("time"), on=[*within, "side", "session"], nulls_equal=True
    )
    before, after = (
        numbered.filter(pl.col("side") == side)
        .drop("side")
        .rename({"value": side, "session": f"session_{side}"})
        for side in SIDES
    )
    together = before.join(after.drop("worse", "margin"), on=[*fields, "pair"], nulls_equal=True)
    sign = pl.when(pl.col("worse") == 0).then(1).otherwise(pl.col("worse"))
    logs = {side: sign * pl.col(side).log() for side in SIDES}
    typical = (logs["before"].median() + logs["after"].median()).over(*fields) / 2
    return together.with_columns(
        (log - typical).alias(f"log_{side}") for side, log in logs.items()
    ).sort(*fields, "pair")


def typical(pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Many series as one: for each run, the median over cases of their medians.

    Only series with the smallest margin of their case speak, and those whose metric is known. A
    pair of runs is one observation, however many series it has: what troubles a run troubles many.

    Args:
        pairs: as ``paired`` gives them.
        by: fields of what is looked at as one.

    Returns:
        ``by``, ``pair``, ``margin``, ``log_before`` and ``log_after``.
    """
    known = pairs.filter(pl.col("worse") != 0)
    steady = known.filter(pl.col("margin") == pl.col("margin").min().over(*CASE))
    cases = steady.group_by(*dict.fromkeys([*CASE, *by]), "pair").agg(
        pl.col(*LOGS).median(), pl.col("margin").first()
    )
    return (
        cases.group_by(*by, "pair")
        .agg(pl.col(*LOGS).median(), pl.col("margin").max())
        .sort(*by, "pair")
    )
