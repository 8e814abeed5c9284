"""The levels of a series between its changes, and the band in which its nights lie."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fabricheck.history.series import Series, SeriesKey
from fabricheck.trend.events import Change, Event, Kind

BAND = (0.05, 0.95)
"""Quantiles of the nights at one level that bound its band."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Nights at one level, in the unit of the series.

    Attributes:
        start: the first of them.
        end: the night after the last one.
        level: their median.
        low: lower end of the band.
        high: upper end.
    """

    start: int
    end: int
    level: float
    low: float
    high: float


def changes_of(events: Iterable[Event]) -> dict[SeriesKey, list[Change]]:
    """The changes of each series that has some, oldest first."""
    found: dict[SeriesKey, list[Change]] = {}
    for event in events:
        for change in event.changes:
            found.setdefault(change.key, []).append(change)
    for changes in found.values():
        changes.sort(key=lambda change: change.index)
    return found


def segments(series: Series, changes: Sequence[Change]) -> list[Segment]:
    """The levels of a series, oldest first; noise that grew leaves the level as it is.

    Args:
        series: a series with at least one night.
        changes: its changes.
    """
    # A change counts in the nights that have a figure.
    finite = np.flatnonzero(np.isfinite(series.values))
    moved = {int(finite[c.index]) for c in changes if c.kind is not Kind.NOISIER} - {0}
    bounds = [0, *sorted(moved), len(series)]
    found = []
    for start, end in pairwise(bounds):
        values = series.values[start:end]
        values = values[np.isfinite(values)]
        if len(values):
            low, level, high = np.quantile(values, (BAND[0], 0.5, BAND[1]))
            found.append(Segment(start, end, float(level), float(low), float(high)))
    return found
