"""The sparkline of key figures over the nights: sparklines of the matrix, and their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import Series, SeriesKey, sparkline
from fabricheck.measures.metrics import size_label
from fabricheck.measures.registry import REGISTRY
from fabricheck.record.sessions import STRESS
from fabricheck.report.history_view import HistoryView, place_of
from fabricheck.report.matrix import key_figures
from fabricheck.report.run import Case, Run
from fabricheck.report.segments import changes_of, segments
from fabricheck.trend.events import Change, Kind, State
from fabricheck.trend.trend_text import amount, moment
from fabricheck.units import share, with_unit

NIGHTS = 24
"""Nights of a sparkline."""

_FEW = 2
_QUIET = (State.RECOVERED, State.ACCEPTED)
_COLORS = {Kind.REGRESSION: "red", Kind.NOISIER: "yellow", Kind.IMPROVEMENT: "green"}


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The nights of one figure.

    Attributes:
        case: title of the case.
        figure: which figure it is.
        before: sparkline up to the last change.
        after: sparkline since then; empty without a change.
        color: colour family of the change; empty without one.
        nights: number of nights.
        level: where the series lies since its last change.
        last: the last value.
        change: the last change in words; empty without one.
        visible: the smallest change for the worse that five nights would show; empty if unknown.
        row: number of the series in the explorer, None if it isn't there.
    """

    case: str
    figure: str
    before: str
    after: str
    color: str
    nights: int
    level: str
    last: str
    change: str
    visible: str
    row: int | None

    @property
    def words(self) -> str:
        """The sparkline for who can't see it."""
        return f"{self.nights} nights, level {self.level}{', ' if self.change else ''}{self.change}"


def sparklines(
    run: Run, past: HistoryView, places: Mapping[SeriesKey, int]
) -> dict[int, Sparkline]:
    """The sparkline of the first key figure that each case has, by the identity of the case."""
    series = {
        (place_of(each.key), each.key.metric, each.key.statistic, each.key.size): each
        for each in past.series
        if each.key.check != STRESS
    }
    changes = changes_of(past.events)
    found = {}
    for case in run.cases:
        benchmark = REGISTRY.get(case.benchmark)
        if benchmark is None:
            continue
        for sample in key_figures(case, benchmark.metrics[0]):
            if sample is None:
                continue
            each = series.get((place_of(case), sample.metric, sample.statistic, sample.size))
            if each and len(each) >= _FEW:
                known = changes.get(each.key, ())
                found[id(case)] = _course(
                    case, each, known, past.trend.visible.get(each.key), places.get(each.key)
                )
                break
    return found


def _course(
    case: Case,
    series: Series,
    changes: Sequence[Change],
    visible: float | None,
    row: int | None,
) -> Sparkline:
    key = series.key
    line = sparkline(_trimmed(series.values[-NIGHTS:]), NIGHTS)
    last = changes[-1] if changes else None
    since = len(line) if last is None else max(0, len(line) - (len(series) - last.index))
    settled = last is None or last.state in _QUIET
    size = "" if key.size is None else f" at {size_label(key.size, key.metric)}"
    return Sparkline(
        case=case.title,
        figure=f"{key.metric.replace('_', ' ')} {key.statistic}{size}",
        before=line[:since],
        after=line[since:],
        color="" if last is None else "grey" if settled else _COLORS.get(last.kind, "magenta"),
        nights=len(series),
        level=with_unit(segments(series, changes)[-1].level, key.unit),
        last=with_unit(float(series.values[-1]), key.unit),
        change="" if last is None else _words(last),
        visible="" if visible is None else share(visible),
        row=row,
    )


def _words(change: Change) -> str:
    return f"{change.state} {change.kind} since {moment(change.since)}: {amount(change)}"


def _trimmed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Values whose outliers are cut, as one of them would make a flat line of all others."""
    low, high = np.nanquantile(values, (0.1, 0.9))
    return np.clip(values, low - (high - low), high + (high - low))
