"""A trend as text of a few lines, and as data."""

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum

import numpy as np
from rich.console import Console
from rich.text import Text

from fabricheck.history.series import sparkline
from fabricheck.measures.metrics import point_label
from fabricheck.trend.attribution import Difference
from fabricheck.trend.detect import Trend
from fabricheck.trend.events import Change, Event, EventKind, EventState, Value
from fabricheck.units import percent, share

LINES = 20
"""Most lines, unless all are asked for."""

_WIDTH = 40
_LINES_OF_EVENT = 4
_OTHER_LINES = 3
_STYLES = {
    EventKind.REGRESSION: "bold red",
    EventKind.NOISIER: "yellow",
    EventKind.CHANGED: "magenta",
    EventKind.IMPROVEMENT: "green",
}
_NAMES = 4
"""Values of a field that are named before the rest is counted."""
_LONG = 60
"""Of longer facts, such as the kernel's options, only the words are shown that differ."""


class TrendVerdict(StrEnum):
    """What the history says of the last nights."""

    STEADY = "steady"
    CHANGED = "changed"
    WORSE = "worse"


Differences = Sequence[Sequence[Difference]]


def show(
    trend: Trend,
    events: Sequence[Event],
    differences: Differences,
    console: Console,
    *,
    every: bool,
    night: str = "",
) -> None:
    """Print the verdict, the events, and what was judged.

    Args:
        trend: the whole trend.
        events: the events to show.
        differences: for each of them what differs across it.
        console: where to.
        every: all events, instead of what 20 lines hold.
        night: when the last night ended, as the record has it; empty where none is known.
    """
    console.print(_verdict(trend, events, night), soft_wrap=True)
    room = (LINES - _OTHER_LINES) // _LINES_OF_EVENT
    shown = list(events) if every else list(events[:room])
    for event, across in zip(shown, differences, strict=False):
        for line in _lines(event, across):
            console.print(line, soft_wrap=True)
    if len(shown) < len(events):
        console.print(f"... and {len(events) - len(shown)} more events: see --all and --json")
    console.print(Text(_counts(trend), "dim"), soft_wrap=True)


def _verdict(trend: Trend, events: Sequence[Event], night: str) -> Text:
    word, sentence = verdict(trend, events)
    style = {
        TrendVerdict.WORSE: "bold red",
        TrendVerdict.CHANGED: "yellow",
        TrendVerdict.STEADY: "green",
    }[word]
    last = f"; last night {night[:16].replace('T', ' ')}" if night else ""
    head = Text(f" {word.upper()} ", f"{style} reverse")
    return head.append(f"  {sentence}{last}; {newest(trend)}", "default not reverse")


def newest(trend: Trend) -> str:
    """When something was measured last, whatever it was for."""
    return "no value" if trend.newest is None else f"newest value {moment(trend.newest)}"


def verdict(trend: Trend, events: Sequence[Event]) -> tuple[TrendVerdict, str]:
    """The verdict on a trend: how many regressions are new or open, and how many others are new.

    A regression that nobody accepted is never steady, however old, nor is what has no value left.
    """
    others = Counter(
        event.kind
        for event in events
        if event.state is EventState.NEW and event.kind is not EventKind.REGRESSION
    )
    worse = [(state, EventKind.REGRESSION, number) for state, number in trend.regressions.items()]
    new = [(EventState.NEW, kind, number) for kind, number in others.items()]
    words = [f"{number} {state} {_plural(kind, number)}" for state, kind, number in worse + new]
    words += [f"no value of {each} any more" for each in trend.lost[:_NAMES]]
    words += [f"and of {len(trend.lost) - _NAMES} others"] * (len(trend.lost) > _NAMES)
    word = TrendVerdict.WORSE if worse else TrendVerdict.CHANGED if words else TrendVerdict.STEADY
    return word, ", ".join(words) or "nothing new"


def _plural(kind: EventKind, number: int) -> str:
    words = {EventKind.NOISIER: "noisier event", EventKind.CHANGED: "change"}
    return words.get(kind, str(kind)) + ("s" if number > 1 else "")


def _lines(event: Event, differences: Sequence[Difference]) -> list[Text]:
    """What, since when and by how much; on what; the course of one series; and what differs."""
    change = typical(event)
    head = Text(f"{event.state} {event.kind}", _STYLES[event.kind])
    head.append(f" on {event.system} since {moment(event.since)}: ", "default not bold")
    head.append(f"{amount(change)}", "bold")
    head.append(f", confidence {event.confidence}", "default not bold")
    where = Text(f"    {where_words(event)}: {len(event.changes)} of {event.alike} series")
    values = change.series.values
    course = Text(f"    {sparkline(values, _WIDTH)} ", "cyan")
    course.append(f"{series_words(change)} {levels(change)}", "default")
    more = f"; and {len(differences) - 1} more: see --json" if len(differences) > 1 else ""
    first = difference_words(differences[0]) if differences else "nothing in the record"
    return [head, where, course, Text(f"    what differs: {first}{more}")]


def difference_words(difference: Difference) -> str:
    """A difference in words, with how many series it explains and how many it does not."""
    before, after = difference.before, difference.after
    if max(len(before), len(after)) > _LONG:
        before, after = _words_of(before, but=after), _words_of(after, but=before)
    return (
        f"{difference.field} {before} → {after} on {difference.where} since "
        f"{moment(difference.since)} ({len(difference.explained)} of {difference.changed} changed "
        f"series, {len(difference.contradicted)} of {difference.unchanged} others)"
    )


def _words_of(text: str, *, but: str) -> str:
    others = but.split()
    return " ".join(word for word in text.split() if word not in others) or "nothing"


def typical(event: Event) -> Change:
    """The change in the middle of an event's, by size."""
    return event.changes[len(event.changes) // 2]


def amount(change: Change) -> str:
    """By how much, in words."""
    if change.effect is None:
        return f"from {change.before:g} to {change.after:g} {change.key.unit}"
    if change.kind is EventKind.NOISIER:
        return f"spread {1 + change.effect:.1f} times as large"
    text = percent(change.effect)
    if change.low is not None and change.high is not None:
        low, high = sorted((change.low, change.high))
        text += f" ({percent(low)} to {percent(high)})"
    return text


def where_words(event: Event) -> str:
    """What the series of an event share and others don't, in words."""
    metrics = {change.key.metric for change in event.changes}
    words = [_names(name, values, metrics) for name, values in event.shared.items()]
    return "; ".join(words) or "everything"


def _names(name: str, values: tuple[Value, ...], metrics: Collection[str]) -> str:
    if name == "size":
        sizes = [value for value in values if isinstance(value, int)]
        if not sizes:
            return "no size"
        metric = next(iter(metrics)) if len(metrics) == 1 else ""
        low, high = point_label(metric, min(sizes)), point_label(metric, max(sizes))
        return low if low == high else f"{len(sizes)} sizes {low} to {high}"
    if name == "num_nodes":
        return f"{', '.join(map(str, values))} nodes"
    texts = [str(value) or "none" for value in values]
    rest = f" and {len(texts) - _NAMES} more" if len(texts) > _NAMES else ""
    return ", ".join(texts[:_NAMES]) + rest


def series_words(change: Change) -> str:
    """A series, short."""
    key = change.key
    size = "" if key.size is None else point_label(key.metric, key.size)
    parts = (key.partition, key.environ, key.benchmark, key.placement, key.statistic, size)
    return " ".join(part for part in parts if part)


def levels(change: Change) -> str:
    """The levels before and after a change."""
    if change.kind is EventKind.NOISIER:
        return f"±{share(change.before)} → ±{share(change.after)}"
    return f"{change.before:.4g} → {change.after:.4g} {change.key.unit}"


def moment(time: np.datetime64) -> str:
    """A time to the minute."""
    return str(time.astype("datetime64[m]")).replace("T", " ")


def _counts(trend: Trend) -> str:
    text = f"{trend.series} series: {trend.judged} judged"
    if trend.short:
        text += f", {trend.short} too short for a verdict on a step"
    if trend.silent:
        text += f", {trend.silent} silent"
    if trend.visible:
        half, most = np.quantile(list(trend.visible.values()), (0.5, 0.9))
        text += (
            f"; five nights would show a change for the worse by {share(half)} in half of "
            f"those judged, by {share(most)} in nine of ten"
        )
    return text
