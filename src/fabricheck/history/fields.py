"""Fields of text as what they mean, and the lines where they mean nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import polars as pl

from fabricheck.history.problems import Kind, Problem

NOTHING: Final = ("null", "None", "")
"""What stands in a field where there is nothing, in ReFrame's words and ours."""

_CALENDAR: Final = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))
"""Times beyond it can't be said in every time zone."""

Converted = tuple[pl.DataFrame, list[Problem]]


def wrong(
    frame: pl.DataFrame,
    text: pl.Series,
    column: str,
    expected: str,
    *,
    least: float | None = None,
    finite: bool = True,
    may_be_empty: bool = True,
) -> list[Problem]:
    """The lines where a field could not be read, or can't be.

    Args:
        frame: what was read, with the column ``line``.
        text: the field as it stands there; its name is the field's.
        column: where in ``frame`` the field is.
        expected: what it should have been, in words.
        least: no value may be less.
        finite: whether a number must be finite; it may not be NaN in any case.
        may_be_empty: whether there may be nothing.
    """
    read = frame[column]
    bad = read.is_null()
    if may_be_empty and bad.any():
        bad &= ~text.is_in(NOTHING)
    if read.dtype.is_float():
        bad |= (read.is_nan() | (read.is_infinite() & finite)).fill_null(False)  # noqa: FBT003
    if least is not None:
        bad |= (read < least).fill_null(False)  # noqa: FBT003
    if not bad.any():
        return []
    found = zip(frame["line"].filter(bad), text.filter(bad), strict=True)
    return [
        Problem(Kind.DAMAGED, line, line, f"expected {expected} as {text.name}, found {value!r}")
        for line, value in found
    ]


def without(frame: pl.DataFrame, problems: Sequence[Problem]) -> pl.DataFrame:
    """The lines that have none of the problems."""
    if not problems:
        return frame
    return frame.filter(~pl.col("line").is_in([problem.first for problem in problems]))


def times(text: pl.Series) -> pl.Series:
    """Points of time; one without zone is this machine's, as ReFrame writes it by default."""
    found = in_calendar(text.str.to_datetime("%Y-%m-%dT%H:%M:%S%z", time_unit="us", strict=False))
    others = text.filter(found.is_null()).unique()
    if others.is_empty():
        return found
    moments = pl.Series([_moment(value) for value in others], dtype=found.dtype)
    return in_calendar(found.fill_null(text.replace_strict(others, moments, default=None)))


def in_calendar(moments: pl.Series) -> pl.Series:
    """Points of time, without those at the ends of the calendar."""
    return moments.set(~moments.is_between(*_CALENDAR), None)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
