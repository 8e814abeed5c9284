"""Two sides of the record beside each other: ratios, intervals, and which of them differ.

A session that measured both sides gives each series one logarithm of B over A, so that what slows
down a whole session falls out; where none has both, the sessions of B stand against those of A. The
estimate is the mean, from eight values on without a fifth of them at each end, and its interval
that of Student's t with the winsorised variance (Yuen 1974, *The two-sample trimmed t for unequal
population variances*; Welch 1947). The p-values are adjusted with Benjamini and Hochberg's method
(1995): those of the whole and the cases, and those of the series, with half of the rate each.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import special, stats

from fabricheck.acceptance.answers import Scope
from fabricheck.acceptance.pairs import CASE, IS_COMPARED, LOGS, SIDES, compared, typical
from fabricheck.acceptance.settings import Settings
from fabricheck.acceptance.wording import name
from fabricheck.errors import FabricheckError
from fabricheck.history.frame import KEY
from fabricheck.judge.levels import Level
from fabricheck.trend.robust import Array

WHOLE: Final = "all"
SAME: Final = "no difference shown"
ERROR_RATE: Final = 0.05
_TRIMMED, _FROM = 0.2, 8
_FINEST: Final = 1e-3
"""Standard deviation that a series is granted at least: its values are rounded."""

_MOST: Final = 700.0
_BAD: Final = (Level.UNTRUSTED.value, Level.DISTURBED.value)
Row = dict[str, Any]


def side_by_side(values: pl.DataFrame, apart: Mapping[str, str]) -> dict[str, Any]:
    """The comparison as data, format 1.

    ``ratio`` is the time of A over that of B, or the bandwidth or rate of B over that of A: above
    1, B is better. Where nobody knows which values are better, it is B over A.

    Args:
        values: with ``side``, as ``named_sides.read_named_sides`` gives them.
        apart: the fields that tell the sides apart, and what is written in their place.

    Raises:
        FabricheckError: if nothing has a partner.
    """
    values = values.with_columns(
        *(pl.lit(text).alias(field) for field, text in apart.items()),
        pl.when(pl.col("level").is_in(_BAD)).then("level")
        .when(pl.col("value").is_null()).then(pl.lit("without value"))
        .when(~IS_COMPARED).then(pl.lit("not above 0, or judged by level alone"))
        .alias("why"),
    )  # fmt: skip
    good = compared(values.filter(pl.col("why").is_null()), Settings())
    logs = _logs(good)
    if logs.is_empty():
        raise FabricheckError(
            "FC2023 expected series that both sides have, found none that are alike but for what "
            f"tells the sides apart, among {good.height} values: name all that differs, as in "
            "a+main b+compute, or see with fabricheck history show what the record has"
        )
    alone = good.join(logs, on=[*KEY, "session"], how="anti", nulls_equal=True)
    alone = alone.join(logs, on=list(KEY), how="semi", nulls_equal=True)
    alone = alone.with_columns(pl.lit("in sessions without the other side").alias("why"))
    left_out = pl.concat(each.select("why", "side") for each in (values.drop_nulls("why"), alone))
    left_out = left_out.with_columns(pl.col("side").replace(SIDES, ("A", "B")))
    return {
        "format": 1,
        "paired": logs[LOGS[0]].count() == 0,
        "sessions": logs["session"].unique().sort().to_list(),
        "ratios": [*_adjusted(list(_of_many(logs))), *_adjusted(list(_of_series(logs)))],
        "lacking": list(_lacking(good, logs)),
        "left_out": left_out.group_by("why", "side").len("values").sort("why", "side").to_dicts(),
        "critical": _critical(good, logs),
    }


def _critical(good: pl.DataFrame, logs: pl.DataFrame) -> list[Row]:
    """How many values that are compared are critical: leaving these out would hide what differs."""
    bad = good.filter(pl.col("level") == Level.CRITICAL.value)
    bad = bad.join(logs, on=[*KEY, "session"], how="semi", nulls_equal=True)
    names = pl.col("side").replace(SIDES, ("A", "B"))
    return bad.group_by(names).len("values").sort("side").to_dicts()


def _logs(good: pl.DataFrame) -> pl.DataFrame:
    """Logarithms of each series and session, greater is better.

    In ``log_after`` stands B over A of a session with both; where none is, ``log_before`` has A and
    ``log_after`` has B, less what is typical of the series.
    """
    series = [*KEY, "worse", "margin"]
    medians = good.group_by(*series, "session", "side").agg(pl.col("value").median())
    before, after = (
        medians.filter(pl.col("side") == side).drop("side").rename({"value": side})
        for side in SIDES
    )
    on = [*series, "session"]
    every = before.join(after, on=on, how="full", coalesce=True, nulls_equal=True)
    sign = pl.when(pl.col("worse") == 1).then(-1).otherwise(1)
    one, other = (sign * pl.col(side).log() for side in SIDES)
    middle = (one.median() + other.median()).over(*series) / 2
    both = every.drop_nulls(SIDES)
    if both.is_empty():
        apart = every.with_columns((one - middle).alias(LOGS[0]), (other - middle).alias(LOGS[1]))
        return apart.filter(pl.any_horizontal(pl.col(*LOGS).is_not_null()))
    return both.with_columns(pl.lit(None, pl.Float64).alias(LOGS[0]), (other - one).alias(LOGS[1]))


def _of_many(logs: pl.DataFrame) -> Iterator[Row]:
    """The whole, as soon as a metric is known, and the cases."""
    for scope, by in ((None, ()), (Scope.CASE, CASE)):
        runs = typical(logs.rename({"session": "pair"}), by)
        for row in runs.group_by("margin", *by, maintain_order=True).agg(*LOGS).to_dicts():
            fields = {field: row[field] for field in by}
            yield _ratio(row, scope, fields)


def _of_series(logs: pl.DataFrame) -> Iterator[Row]:
    series = logs.group_by(*KEY, "worse").agg(*LOGS, pl.col(*SIDES).median())
    for row in series.sort(*KEY, nulls_last=False).to_dicts():
        fields = {field: row[field] for field in KEY}
        yield _ratio(row, Scope.SERIES, fields)


def _ratio(row: Row, scope: Scope | None, fields: Row) -> Row:
    before, after = (np.array([each for each in row[log] if each is not None]) for log in LOGS)
    middle, reach, p = estimate(*(each for each in (after, before) if len(each)))
    return {
        "scope": scope or WHOLE,
        "name": name(scope, fields) if scope else WHOLE,
        "case": name(Scope.CASE, fields) if scope else "",
        "fields": fields,
        "ratio": exp(middle),
        "interval": None if reach is None else [exp(middle - reach), exp(middle + reach)],
        "sessions": [len(each) for each in (before, after) if len(each)],
        "p": p,
        "a": row.get(SIDES[0]),
        "b": row.get(SIDES[1]),
        "directed": row.get("worse", 1) != 0,
    }


def estimate(*sides: Array, error_rate: float = ERROR_RATE) -> tuple[float, float | None, float]:
    """The first side less the second, if there is one; half of its interval; its p-value.

    With one value on a side there is no interval, and the p-value is 1. The interval misses the
    truth at the error rate.
    """
    parts = [_trimmed(each) for each in sides]
    middle = parts[0][0] - sum(part[0] for part in parts[1:])
    if any(freedom == 0 for _, _, freedom in parts):
        return middle, None, 1.0
    variance = sum(part[1] for part in parts)
    freedom = variance**2 / sum(part**2 / its for _, part, its in parts)
    error = math.sqrt(variance)
    reach = error * float(special.stdtrit(freedom, 1 - error_rate / 2))
    return middle, reach, 2 * float(special.stdtr(freedom, -abs(middle) / error))


def _trimmed(values: Array) -> tuple[float, float, int]:
    """Trimmed mean, its variance and degrees of freedom."""
    cut = int(_TRIMMED * len(values)) if len(values) >= _FROM else 0
    kept = np.sort(values)[cut : len(values) - cut]
    squares = len(values) * float(np.clip(values, kept[0], kept[-1]).var())
    freedom = len(kept) - 1
    return float(kept.mean()), max(squares / max(freedom, 1), _FINEST**2) / len(kept), freedom


def exp(logarithm: float) -> float:
    """The ratio of a logarithm, as far as a number goes: of two sessions intervals are wide."""
    return math.exp(max(-_MOST, min(_MOST, logarithm)))


def _adjusted(rows: Sequence[Row]) -> Iterator[Row]:
    adjusted = stats.false_discovery_control([row["p"] for row in rows]) if rows else ()
    for row, q in zip(rows, adjusted, strict=True):
        yield {**row, "q": min(1.0, 2 * float(q)), "says": _says(row, 2 * float(q))}


def _says(row: Row, q: float) -> str:
    if row["interval"] is None:
        return "one session: no interval"
    if q > ERROR_RATE:
        return SAME
    return "differs" if not row["directed"] else f"B {'better' if row['ratio'] > 1 else 'worse'}"


def _lacking(good: pl.DataFrame, logs: pl.DataFrame) -> Iterator[Row]:
    """Cases with series that stand on one side only, and the sessions that have them."""
    lone = good.join(logs, on=list(KEY), how="anti", nulls_equal=True)
    runs = (pl.col("session").filter(side=side).n_unique().alias(side) for side in SIDES)
    cases = lone.group_by(*CASE).agg(pl.struct(*KEY).n_unique().alias("series"), *runs)
    for row in cases.sort(*CASE).to_dicts():
        counts = {"series": row["series"], "a": row[SIDES[0]], "b": row[SIDES[1]]}
        yield {"name": name(Scope.CASE, row), **counts}
