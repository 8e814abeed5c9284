"""What changed, ready for the template: the verdict of the history, and its events."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricheck.history.series import SeriesKey
from fabricheck.report.history_view import HistoryView
from fabricheck.trend.attribution import Difference
from fabricheck.trend.events import Event, Kind, State
from fabricheck.trend.trend_text import (
    Verdict,
    amount,
    levels,
    moment,
    newest,
    series_words,
    typical,
    verdict,
    where_words,
)

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
class HistoryVerdict:
    """The verdict of the history: sign, colour family, word, and what it rests on."""

    symbol: str
    color: str
    word: str
    sentence: str


@dataclass(frozen=True, slots=True)
class EventView:
    """An event with what differs across it; ``row`` is the number of the series in the middle in
    the explorer, None if it isn't there.
    """

    event: Event
    differences: Sequence[Difference]
    symbol: str
    color: str
    title: str
    row: int | None


def history_verdict(past: HistoryView) -> HistoryVerdict:
    """The verdict of the history in one line."""
    trend = past.trend
    if trend.newest is None:
        sentence = "the history has no series of this system"
        return HistoryVerdict("?", "magenta", "Unknown", sentence)
    word, sentence = verdict(trend, past.events)
    if slow := [" or ".join(lemon.nodes) for each in past.nodes for lemon in each.lemons]:
        word, sentence = Verdict.WORSE, f"slow: {', '.join(slow)}; {sentence}"
    if not past.holds_run:
        sentence += "; this run is not in the history yet: run fabricheck history refresh"
    if not trend.judged:
        sentence += f"; none of {trend.series} series has enough nights for a verdict on a step"
        if word is Verdict.STEADY:
            return HistoryVerdict("?", "magenta", "Not judged", sentence)
    if not past.holds_run and word is Verdict.STEADY:
        return HistoryVerdict("?", "magenta", "Not compared", sentence)
    others = Counter(
        event.state
        for event in past.events
        if event.state is not State.NEW
        if (event.state, event.kind) != (State.OPEN, Kind.REGRESSION)
    )
    counted = "".join(f", {number} {state}" for state, number in others.items())
    return HistoryVerdict(*_VERDICTS[word], f"{sentence}{counted}; {newest(trend)}")


def event_views(past: HistoryView, places: Mapping[SeriesKey, int]) -> list[EventView]:
    """The events; ``places`` are the series' numbers in the explorer."""
    return [
        EventView(event, across, *_sign(event), _title(event), places.get(typical(event).key))
        for event, across in zip(past.events, past.differences, strict=True)
    ]


def _sign(event: Event) -> tuple[str, str]:
    symbol, color = _KINDS[event.kind]
    return symbol, "grey" if event.state in _SETTLED else color


def _title(event: Event) -> str:
    return f"{event.state} {event.kind} on {event.system}"


FILTERS = {
    each.__name__: each for each in (amount, levels, moment, series_words, typical, where_words)
}
"""What tells events and changes in words."""
