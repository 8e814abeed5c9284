"""The two sides of an acceptance: which runs were before the change, and which after it.

A selection is ReFrame's (``--performance-compare``), and ReFrame's own parser reads it: a session's
uuid, a period such as ``20261101:now``, a filter of sessions such as ``?'state=="before"'``, or a
filter after a period. Beyond that, the name that the record gives a session is one.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from fabricheck.acceptance.pairs import SIDES
from fabricheck.errors import FabricheckError
from fabricheck.history.frame import KEY
from fabricheck.history.provenance import Provenance
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.judge.levels import Level
from fabricheck.reframe_ext.reframe import query_of

_NIGHTS = 30
_LEAST_NIGHTS = 12


def read_sides(
    history: History, before: Sequence[str], after: Sequence[str], terms: Iterable[str] = ()
) -> pl.DataFrame:
    """The values of both sides, with the column ``side``.

    Args:
        history: where they are.
        before: selections of the runs before the change; their union counts.
        after: likewise after it.
        terms: only series with these values of fields, as ``Selection.read`` takes them.

    Raises:
        FabricheckError: for a selection that is none or selects nothing, and for two sides that
            share a run.
    """
    sides = [
        _values(history, texts, side, Selection.read(terms))
        for side, texts in zip(SIDES, (before, after), strict=True)
    ]
    shared = set(sides[0]["session"]) & set(sides[1]["session"]) - {""}
    if shared:
        raise FabricheckError(
            f"FC2007 expected runs that are before or after the change, found {min(shared)} on "
            "both sides: select others with --before and --after"
        )
    return pl.concat(sides)


def read_spreads(history: History, values: pl.DataFrame, terms: Iterable[str] = ()) -> pl.DataFrame:
    """How the series scattered in the nights before the first run of either side.

    Args:
        history: where they are.
        values: as ``read_sides`` gives them.
        terms: the fields that were wanted.

    Returns:
        The fields of the series and ``spread``, the standard deviation of the logarithms of the
        last 30 values; nothing for a series with fewer than 12.
    """
    (first,) = values.select(pl.col("time").min()).row(0)
    earlier = history.values(Selection.read(terms, until=first))
    last = pl.col("value").sort_by("time").tail(_NIGHTS)
    return (
        earlier.filter(pl.col("value") > 0)
        .group_by(*KEY)
        .agg(last.log().std().alias("spread"), pl.len().alias("nights"))
        .filter(pl.col("nights") >= _LEAST_NIGHTS)
        .drop("nights")
        .collect()
    )


def provenance_of(history: History, values: pl.DataFrame, terms: Iterable[str]) -> Provenance:
    """What is known of the sessions of both sides.

    Args:
        history: where they are.
        values: as ``read_sides`` gives them.
        terms: the fields that were wanted.
    """
    first, last = values.select(pl.col("time").min(), pl.col("time").max().alias("last")).row(0)
    return history.provenance(Selection.read(terms, first, last + timedelta(seconds=1)))


def _values(history: History, texts: Sequence[str], side: str, series: Selection) -> pl.DataFrame:
    frames = [selected(history, text, series, named=True) for text in texts]
    found = pl.concat(frames).unique(maintain_order=True)
    # What was measured beside foreign work says nothing of the change.
    found = found.filter(pl.col("level") != Level.DISTURBED.value)
    if found.is_empty():
        raise FabricheckError(
            f"FC2008 expected values {side} the change in the history, found none for --{side} "
            f"{' '.join(texts)}: read the record first with fabricheck history refresh, or select "
            "others"
        )
    return found.with_columns(pl.lit(side).alias("side"))


def selected(
    history: History, text: str, series: Selection, *, named: bool = False
) -> pl.DataFrame:
    """The values of the runs that a selection names.

    Args:
        history: where they are.
        text: the selection.
        series: which series.
        named: as of ``History.values``.

    Raises:
        FabricheckError: if it is none.
    """
    if not text:
        raise _no_selection(text, "nothing")
    if "?" not in text and ":" not in text:
        its = (each.session for each in history.sessions() if each.info.get("uuid") == text)
        wanted = [text, *its]
    else:
        query = _parsed(text)
        if query.sess_filter is None:
            start, end = (datetime.fromtimestamp(edge, UTC) for edge in query.time_period)
            within = Selection(series.fields, start, end)
            return history.values(within, named=named).collect()
        wanted = _sessions(history, query, text)
    return history.values(series, named=named).filter(pl.col("session").is_in(wanted)).collect()


def _parsed(text: str) -> Any:
    """What ReFrame makes of a selection."""
    try:
        query = query_of(text)
    except (ValueError, OverflowError) as error:
        raise _no_selection(text, str(error)) from error
    if query.uuid is not None:
        raise _no_selection(text, "a part of a session")
    return query


def _no_selection(text: str, found: str) -> FabricheckError:
    return FabricheckError(
        f"FC2009 expected a selection of ReFrame's, found {text!r} ({found}): name a period such "
        "as 20261101:now, a session, or a filter such as '?state==\"before\"'"
    )


def _sessions(history: History, query: Any, text: str) -> list[str]:
    """Names of the sessions of the history that a query selects."""
    return sorted({each.session for each in history.sessions() if _fits(query, each.info, text)})


def _fits(query: Any, info: Mapping[str, Any], text: str) -> bool:
    if query.time_period:
        start, end = query.time_period
        if not start <= info.get("time_start_unix", 0) < end:
            return False
    try:
        code = compile(query.sess_filter, "<filter>", "eval")
    except (SyntaxError, ValueError) as error:
        raise _no_selection(text, f"{error}") from error
    try:
        # As ReFrame does it: the filter is an expression of the person who types the command.
        return bool(eval(code, {}, dict(info)))  # noqa: S307
    except Exception:
        # Sessions without the extra that a filter asks for are not meant, as in ReFrame.
        return False
