"""What changed, ready for the template: the verdict of the history, and its events."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricheck.history.series import SeriesKey
from fabricheck.report.past import Past
from fabricheck.trend.attribution import Difference
from fabricheck.trend.events import Change, Event, Kind, State
from fabricheck.trend.show import (
    Verdict,
    amount,
    levels,
    moment,
    series_words,
    typical,
    verdict,
    where_words,
)

MOST_ROWS = 12
"""Series of an event that are listed; the others are counted."""

MOST_DIFFERENCES = 6
"""Differences of an event that are listed."""

_VERDICTS = {
    Verdict.STEADY: ("=", "green", "Steady"),
    Verdict.CHANGED: ("≠", "yellow", "Changed"),
    Verdict.WORSE: ("▼", "red", "Worse than before"),
}
_KINDS = {
    Kind.REGRESSION: ("▼", "red"),
    Kind.NOISIER: ("≈", "yellow"),
    Kind.CHANGED: ("≠", "magenta"),
    Kind.IMPROVEMENT: ("▲", "green"),
}
_SETTLED = (State.RECOVERED, State.ACCEPTED)


@dataclass(frozen=True, slots=True)
class PastVerdict:
    """The verdict of the history: sign, colour family, word, and what it rests on."""

    symbol: str
    color: str
    word: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A series of an event; ``row`` is its number in the drill-down, None if it isn't there."""

    words: str
    levels: str
    amount: str
    nights: int
    row: int | None


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """What differs across an event, and how many changed and other series saw it."""

    name: str
    before: str
    after: str
    where: str
    explained: str
    contradicted: str


@dataclass(frozen=True, slots=True)
class EventView:
    """An event in words."""

    anchor: str
    symbol: str
    color: str
    title: str
    since: str
    amount: str
    where: str
    count: str
    confidence: str
    differences: tuple[DifferenceView, ...]
    rows: tuple[ChangeRow, ...]
    more: int
    row: int | None


def past_verdict(past: Past) -> PastVerdict:
    """The verdict of the history in one line."""
    trend = past.trend
    if trend.newest is None:
        sentence = "the history has no series of this system"
        return PastVerdict("?", "magenta", "Unknown", sentence)
    word, sentence = verdict(trend, past.events)
    if slow := [" or ".join(lemon.nodes) for each in past.nodes for lemon in each.lemons]:
        word, sentence = Verdict.WORSE, f"slow: {', '.join(slow)}; {sentence}"
    if not past.holds_run:
        sentence += "; this run is not in the history, which fabricheck history refresh mends"
    if not trend.judged:
        sentence += f"; none of {trend.series} series has enough nights for a verdict on a step"
        if word is Verdict.STEADY:
            return PastVerdict("?", "magenta", "Not judged", sentence)
    if not past.holds_run and word is Verdict.STEADY:
        return PastVerdict("?", "magenta", "Not compared", sentence)
    others = Counter(event.state for event in past.events if event.state is not State.NEW)
    counted = "".join(f", {number} {state}" for state, number in others.items())
    return PastVerdict(*_VERDICTS[word], f"{sentence}{counted}; last night {moment(trend.newest)}")


def event_views(past: Past, places: Mapping[SeriesKey, int]) -> list[EventView]:
    """The events with their series; ``places`` are the series' numbers in the drill-down."""
    return [
        _event(number, event, past.differences[number - 1], places)
        for number, event in enumerate(past.events, 1)
    ]


def _event(
    number: int,
    event: Event,
    differences: Sequence[Difference],
    places: Mapping[SeriesKey, int],
) -> EventView:
    symbol, color = _KINDS[event.kind]
    middle = typical(event)
    return EventView(
        anchor=f"event-{number}",
        symbol=symbol,
        color="grey" if event.state in _SETTLED else color,
        title=f"{event.state} {event.kind} on {event.system}",
        since=moment(event.since),
        amount=amount(middle),
        where=where_words(event),
        count=f"{len(event.changes)} of {event.alike} series",
        confidence=str(event.confidence),
        differences=tuple(_difference(each) for each in differences[:MOST_DIFFERENCES]),
        rows=tuple(_row(change, places) for change in event.changes[:MOST_ROWS]),
        more=max(0, len(event.changes) - MOST_ROWS),
        row=places.get(middle.key),
    )


def _difference(difference: Difference) -> DifferenceView:
    return DifferenceView(
        difference.field.replace("_", " "),
        difference.before,
        difference.after,
        difference.where,
        f"{len(difference.explained)} of {difference.changed}",
        f"{len(difference.contradicted)} of {difference.unchanged}",
    )


def _row(change: Change, places: Mapping[SeriesKey, int]) -> ChangeRow:
    return ChangeRow(
        series_words(change),
        levels(change),
        amount(change),
        len(change.series) - change.index,
        places.get(change.key),
    )
