"""Changes of series, and the events that they make up."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fabricheck.history.series import Series, SeriesKey

SHARED_FIELDS = (
    "partition", "environ", "transport", "num_nodes", "benchmark", "metric", "statistic", "size",
)  # fmt: skip
"""What series may have in common, in the order in which an operator asks for it."""

Value = str | int | None

_VERY_HIGH, _HIGH = 1e-4, 1e-2
"""Largest adjusted p-values of these confidences."""


class Kind(StrEnum):
    """What happened."""

    REGRESSION = "regression"
    NOISIER = "noisier"
    CHANGED = "changed"
    IMPROVEMENT = "improvement"


class State(StrEnum):
    """How it stands tonight."""

    NEW = "new"
    OPEN = "open"
    RECOVERED = "recovered"
    ACCEPTED = "accepted"


class Detector(StrEnum):
    """What saw it."""

    WINDOW = "window"
    CHANGE_POINT = "change point"
    SUDDEN = "sudden"
    SPREAD = "spread"


class Confidence(StrEnum):
    """How sure it is, from the adjusted p-value of the surest series."""

    VERY_HIGH = "very high"
    HIGH = "high"
    FAIR = "fair"
    ONE_NIGHT = "one night"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one series.

    Attributes:
        series: the series.
        kind: better, worse, noisier, or only different where nobody knows what is better.
        state: how it stands tonight.
        detector: what saw it.
        index: the first night after the change.
        before: median before it; of noisier, the relative spread.
        after: median since then; of noisier, the relative spread.
        effect: relative change, ``None`` where there is no level to relate it to.
        low: lower end of its 95 % interval, ``None`` where there is none.
        high: upper end.
        p: p-value, corrected for what was tried within the series.
        q: p-value adjusted for all series (Benjamini and Hochberg).
    """

    series: Series
    kind: Kind
    state: State
    detector: Detector
    index: int
    before: float
    after: float
    effect: float | None
    low: float | None
    high: float | None
    p: float
    q: float

    @property
    def key(self) -> SeriesKey:
        """Whose change it is."""
        return self.series.key

    @property
    def since(self) -> np.datetime64:
        """When the first night after the change was measured."""
        return np.datetime64(self.series.times[self.index], "s")

    @property
    def session(self) -> str:
        """The first session after the change."""
        return str(self.series.sessions[self.index])

    @property
    def weight(self) -> float:
        """Size of the effect, to sort by."""
        return abs(self.effect) if self.effect is not None else np.inf


@dataclass(frozen=True, slots=True)
class Event:
    """Changes of one kind that began at one time on one system.

    Attributes:
        system: where.
        kind: what happened.
        state: new if any series is, else open, recovered or accepted.
        since: when most of its series changed.
        changes: the changes, largest first.
        shared: fields in which the changed series agree and others differ, with their values.
        alike: number of series with these values, changed or not.
    """

    system: str
    kind: Kind
    state: State
    since: np.datetime64
    changes: tuple[Change, ...]
    shared: Mapping[str, tuple[Value, ...]]
    alike: int

    @property
    def confidence(self) -> Confidence:
        """How sure it is."""
        if all(change.detector is Detector.SUDDEN for change in self.changes):
            return Confidence.ONE_NIGHT
        q = min(change.q for change in self.changes)
        return (
            Confidence.VERY_HIGH
            if q <= _VERY_HIGH
            else Confidence.HIGH
            if q <= _HIGH
            else Confidence.FAIR
        )


def merge(changes: Sequence[Change], series: Sequence[Series], same_days: float) -> list[Event]:
    """The events that changes of one system make up, latest first.

    The night on which most series changed takes those that changed within some days of it, as weak
    changes are dated less sharply; then the next.

    Args:
        changes: changes of one system.
        series: all its series, for what the changed ones share and others don't.
        same_days: changes that begin within so many days are one event.
    """
    reach = np.timedelta64(round(same_days * 86400), "s")
    events: list[Event] = []
    for kind in Kind:
        # What is accepted does not hide what is not.
        for settled in (False, True):
            left = [
                each
                for each in changes
                if each.kind is kind and (each.state is State.ACCEPTED) == settled
            ]
            while left:
                nights = Counter(each.since.astype("datetime64[D]") for each in left)
                night = max(nights, key=lambda each: (nights[each], each))
                since = min(
                    each.since for each in left if each.since.astype("datetime64[D]") == night
                )
                inside = [each for each in left if abs(each.since - since) <= reach]
                left = [each for each in left if abs(each.since - since) > reach]
                events.append(_event(kind, since, inside, series))
    order = list(Kind)
    return sorted(events, key=lambda event: (-event.since.astype(int), order.index(event.kind)))


def _event(
    kind: Kind, since: np.datetime64, changes: list[Change], series: Sequence[Series]
) -> Event:
    states = {change.state for change in changes}
    state = next(each for each in State if each in states)
    shared: dict[str, tuple[Value, ...]] = {}
    for name in SHARED_FIELDS:
        values = {getattr(change.key, name) for change in changes}
        if values != {getattr(each.key, name) for each in series}:
            shared[name] = tuple(sorted(values, key=lambda value: (value is None, value)))
    alike = sum(
        all(getattr(each.key, name) in values for name, values in shared.items()) for each in series
    )
    ordered = sorted(changes, key=lambda change: (-change.weight, change.key))
    return Event(ordered[0].key.system, kind, state, since, tuple(ordered), shared, alike)
