"""What the history adds to the page: verdict, events, sparklines, and what the run has not."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import Series, SeriesKey, sparkline
from fabricheck.measures.metrics import size_label
from fabricheck.measures.registry import REGISTRY
from fabricheck.record.sessions import STRESS
from fabricheck.report.history_view import HistoryView, Place, place_of, place_words
from fabricheck.report.matrix import key_figures
from fabricheck.report.run import ReportedRun
from fabricheck.trend.attribution import Difference
from fabricheck.trend.events import Change, Event, EventKind, EventState
from fabricheck.trend.trend_text import TrendVerdict, amount, moment, newest, typical, verdict
from fabricheck.units import share, with_unit

NIGHTS = 24
"""Nights of a sparkline."""
BAND = (0.05, 0.95)
"""Quantiles of the nights at one level that bound its band."""
_FEW = 2
_RECENT = np.timedelta64(30, "D")
"""A case that nobody measured for longer is given up, not missing."""
_VERDICTS = {
    TrendVerdict.STEADY: ("=", "green", "Steady"),
    TrendVerdict.CHANGED: ("≠", "yellow", "Changed"),
    TrendVerdict.WORSE: ("▼", "red", "Worse than before"),
}
_KINDS = {
    EventKind.REGRESSION: ("▼", "red"),
    EventKind.NOISIER: ("≈", "yellow"),
    EventKind.CHANGED: ("≠", "magenta"),
    EventKind.IMPROVEMENT: ("▲", "green"),
}
_SETTLED = (EventState.RECOVERED, EventState.ACCEPTED)


@dataclass(frozen=True, slots=True)
class HistoryVerdict:
    """The verdict of the history: sign, colour family, word, and what it rests on."""

    symbol: str
    color: str
    word: str
    sentence: str


def history_verdict(past: HistoryView) -> HistoryVerdict:
    """The verdict of the history in one line."""
    trend = past.trend
    if trend.newest is None:
        sentence = "the history has no series of this system"
        return HistoryVerdict("?", "magenta", "Unknown", sentence)
    word, sentence = verdict(trend, past.events)
    if slow := [" or ".join(lemon.nodes) for each in past.nodes for lemon in each.lemons]:
        word, sentence = TrendVerdict.WORSE, f"slow: {', '.join(slow)}; {sentence}"
    if back := [found.what for each in past.nodes for found in each.returning]:
        word, sentence = TrendVerdict.WORSE, f"comes and goes: {', '.join(back)}; {sentence}"
    if not past.holds_run:
        sentence += "; this run is not in the history yet: run fabricheck history refresh"
    if not trend.judged:
        sentence += f"; none of {trend.series} series has enough nights for a verdict on a step"
    if word is TrendVerdict.STEADY and not (trend.judged and past.holds_run):
        lack = "Not compared" if trend.judged else "Not judged"
        return HistoryVerdict("?", "magenta", lack, sentence)
    others = Counter(
        event.state
        for event in past.events
        if event.state is not EventState.NEW
        if (event.state, event.kind) != (EventState.OPEN, EventKind.REGRESSION)
    )
    counted = "".join(f", {number} {state}" for state, number in others.items())
    return HistoryVerdict(*_VERDICTS[word], f"{sentence}{counted}; {newest(trend)}")


@dataclass(frozen=True, slots=True)
class EventView:
    """An event with what differs across it; ``row`` is the number of the series in the middle in
    the explorer, None if it isn't there.
    """

    event: Event
    differences: Sequence[Difference]
    row: int | None

    @property
    def symbol(self) -> str:
        """One character for its kind."""
        return _KINDS[self.event.kind][0]

    @property
    def color(self) -> str:
        """Colour family."""
        return "grey" if self.event.state in _SETTLED else _KINDS[self.event.kind][1]


def event_views(past: HistoryView, places: Mapping[SeriesKey, int]) -> list[EventView]:
    """The events; ``places`` are the series' numbers in the explorer."""
    return [
        EventView(event, across, places.get(typical(event).key))
        for event, across in zip(past.events, past.differences, strict=True)
    ]


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
    changes = (change for event in events for change in event.changes)
    for change in sorted(changes, key=lambda change: change.index):
        found.setdefault(change.key, []).append(change)
    return found


def segments(series: Series, changes: Sequence[Change]) -> list[Segment]:
    """The levels of a series, oldest first; noise that grew leaves the level as it is.

    Args:
        series: a series with at least one night.
        changes: its changes.
    """
    # A change counts in the nights that have a figure.
    finite = np.flatnonzero(np.isfinite(series.values))
    moved = {int(finite[c.index]) for c in changes if c.kind is not EventKind.NOISIER} - {0}
    found = []
    for start, end in pairwise([0, *sorted(moved), len(series)]):
        values = series.values[start:end]
        values = values[np.isfinite(values)]
        if len(values):
            low, level, high = np.quantile(values, (BAND[0], 0.5, BAND[1]))
            found.append(Segment(start, end, float(level), float(low), float(high)))
    return found


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
    run: ReportedRun, past: HistoryView, places: Mapping[SeriesKey, int]
) -> dict[int, Sparkline]:
    """The sparkline of the first key figure that each case has, by the identity of the case."""
    series_of = {
        (
            place_of(each.key),
            each.key.check,
            each.key.metric,
            each.key.statistic,
            each.key.size,
        ): each
        for each in past.series
        if each.key.check != STRESS and len(each) >= _FEW
    }
    changes = changes_of(past.events)
    drawings = {}
    for case in run.cases:
        if not (benchmark := REGISTRY.get(case.benchmark)):
            continue
        figures = (sample for sample in key_figures(case, benchmark.metrics[0]) if sample)
        where = place_of(case), case.check
        drawn = (series_of.get((*where, s.metric, s.statistic, s.size)) for s in figures)
        if series := next(filter(None, drawn), None):
            key = series.key
            drawings[id(case)] = _sparkline(
                case.title,
                series,
                changes.get(key, ()),
                past.trend.visible.get(key),
                places.get(key),
            )
    return drawings


def _sparkline(
    title: str,
    series: Series,
    changes: Sequence[Change],
    visible: float | None,
    row: int | None,
) -> Sparkline:
    key = series.key
    line = sparkline(_trimmed(series.values[-NIGHTS:]), NIGHTS)
    since, color, change = len(line), "", ""
    if changes:
        last = changes[-1]
        since = max(0, len(line) - (len(series) - last.index))
        color = "grey" if last.state in _SETTLED else _KINDS[last.kind][1]
        change = f"{last.state} {last.kind} since {moment(last.since)}: {amount(last)}"
    size = "" if key.size is None else f" at {size_label(key.size, key.metric)}"
    return Sparkline(
        case=title,
        figure=f"{key.metric.replace('_', ' ')} {key.statistic}{size}",
        before=line[:since],
        after=line[since:],
        color=color,
        nights=len(series),
        level=with_unit(segments(series, changes)[-1].level, key.unit),
        last=with_unit(float(series.values[-1]), key.unit),
        change=change,
        visible="" if visible is None else share(visible),
        row=row,
    )


def _trimmed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Values whose outliers are cut, as one of them would make a flat line of all others."""
    low, high = np.nanquantile(values, (0.1, 0.9))
    return np.clip(values, low - (high - low), high + (high - low))


@dataclass(frozen=True, slots=True)
class Missing:
    """A case of earlier nights that the run has no value of, and when it was last measured."""

    case: str
    last: str
    nights: int
    why: str


def missing(run: ReportedRun, past: HistoryView) -> list[Missing]:
    """Cases of the last thirty days that the run did not measure, without those that may rest."""
    newest_night = past.trend.newest
    if newest_night is None:
        return []
    fine = {place_of(c) for c in run.cases if any(s.value is not None for s in c.samples)}
    fine |= {_resting(each) for each in run.not_due}
    why = {_resting(each): f"{each['state']}: {each['why']}" for each in run.resting}
    why |= {place_of(case): f"{case.status}: {'; '.join(case.causes)}" for case in run.cases}
    last: dict[Place, tuple[np.datetime64, int]] = {}
    for series in past.series:
        case = place_of(series.key)
        if series.key.check == STRESS or case in fine or not len(series):
            continue
        if series.times[-1] >= newest_night - _RECENT:
            time, nights = last.get(case, (series.times[-1], 0))
            last[case] = (max(time, series.times[-1]), max(nights, len(series)))
    return [
        Missing(place_words(case), moment(time), nights, why.get(case, "not part of this run"))
        for case, (time, nights) in sorted(last.items(), key=lambda item: (item[1][0], item[0]))
    ]


def _resting(case: Mapping[str, str]) -> Place:
    where = case["system"], case["partition"], case["environ"]
    return *where, case["benchmark"], case["placement"]


def remarks(past: HistoryView) -> list[str]:
    """Sentences on what the history could not judge, and why."""
    trend = past.trend
    found = []
    if not past.holds_run:
        found.append(
            "This run is not in the history: trends end before it. "
            "fabricheck history refresh reads it."
        )
    if trend.short:
        found.append(
            f"{trend.short} of {trend.series} series have too few nights for a verdict on a step; "
            "only a sudden change would be seen in them."
        )
    if trend.silent:
        found.append(f"{trend.silent} of {trend.series} series have been silent for too long.")
    if past.lines:
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(past.lines.items()))
        found.append(
            f"Lines of the record that were left out: {counts}. "
            "fabricheck history status names each."
        )
    return found
