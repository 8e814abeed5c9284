"""Changes of series, and the events that they make up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import Series, SeriesKey
from fabricheck.trend.robust import Array, adjusted, finest_spread, spreads
from fabricheck.trend.settings import Settings

SHARED_FIELDS = (
    "partition", "environ", "transport", "num_nodes", "benchmark", "metric", "statistic", "size",
)  # fmt: skip
"""What series may have in common, in the order in which an operator asks for it."""

Value = str | int | None

_VERY_HIGH, _HIGH = 1e-4, 1e-2
"""Largest adjusted p-values of these confidences."""


class EventKind(StrEnum):
    """What happened."""

    REGRESSION = "regression"
    NOISIER = "noisier"
    CHANGED = "changed"
    IMPROVEMENT = "improvement"


class EventState(StrEnum):
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
    POOL = "pool"


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
        start: the first night that the level before it was taken from.
        end: the night after the last one that the level after it was taken from.
        before: median before it; of noisier, the relative spread.
        after: median since then; of noisier, the relative spread.
        effect: relative change, ``None`` where there is no level to relate it to.
        p: p-value, corrected for what was tried within the series.
        q: p-value adjusted for all series and detectors (``fabricheck.trend.robust``).
        low: lower end of the effect's 95 % interval, ``None`` where there is none.
        high: upper end.
    """

    series: Series
    kind: EventKind
    state: EventState
    detector: Detector
    index: int
    start: int
    end: int
    before: float
    after: float
    effect: float | None
    p: float
    q: float = 1.0
    low: float | None = None
    high: float | None = None

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
    def moved(self) -> bool:
        """Whether the level moved, and several nights bear it out."""
        return self.detector in {Detector.WINDOW, Detector.CHANGE_POINT}

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
    kind: EventKind
    state: EventState
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
        if q <= _VERY_HIGH:
            return Confidence.VERY_HIGH
        return Confidence.HIGH if q <= _HIGH else Confidence.FAIR


@dataclass(frozen=True, slots=True)
class _Group:
    """Changes of one kind that one night explains.

    Attributes:
        since: when the first of them that is dated to that night began.
        near: those dated within some days of it.
        changes: all.
    """

    since: np.datetime64
    near: Sequence[Change]
    changes: Sequence[Change]


def merge(changes: Sequence[Change], series: Sequence[Series], settings: Settings) -> list[Event]:
    """The events that changes of one system make up, latest first.

    The night that explains the changes best takes those that began within some days of it, and
    those whose values don't speak against it, as weak changes are dated less sharply; then the
    next. What the largest event leaves must stand without it: see ``_standing``.

    Args:
        changes: changes of one system.
        series: all its series, for what the changed ones share and others don't.
        settings: how many days are one event, and the largest share of false alarms.
    """
    reach = np.timedelta64(round(settings.same_days * 86400), "s")
    groups: list[_Group] = []
    for kind in EventKind:
        # What is accepted does not hide what is not.
        for settled in (False, True):
            alike = [each for each in changes if each.kind is kind]
            left = [each for each in alike if (each.state is EventState.ACCEPTED) == settled]
            groups += _groups(left, reach)
    groups.sort(key=lambda group: -len(group.changes))
    standing = _standing(groups, len(series), settings.false_discovery_rate)
    events = [_event(group, series) for group in standing]
    order = list(EventKind)
    return sorted(events, key=lambda event: (-event.since.astype(int), order.index(event.kind)))


def _groups(changes: Sequence[Change], reach: np.timedelta64) -> Iterator[_Group]:
    left = np.array(changes, dtype=object)
    begun = np.array([each.since for each in changes], dtype="datetime64[s]")
    nights, dated = np.unique(begun.astype("datetime64[D]"), return_inverse=True)
    doubt = doubts(changes, nights)
    while len(left):
        most = believable(len(left))
        counts = np.bincount(dated, minlength=len(nights))
        total = np.minimum(doubt, most).sum(axis=0)
        # Of equals the night of most, and the last of them.
        night = min(np.flatnonzero(counts), key=lambda each: (total[each], -counts[each], -each))
        since = begun[dated == night].min()
        near = np.abs(begun - since) <= reach
        inside = near | (doubt[:, night] <= most)
        yield _Group(since, left[near], left[inside])
        left, begun, dated, doubt = (each[~inside] for each in (left, begun, dated, doubt))


def _standing(groups: Sequence[_Group], series: int, rate: float) -> Iterator[_Group]:
    """The groups, largest first, without changes that only the larger groups let in.

    The adjustment allows a share of all that is raised to be false. A thousand series that change
    for one reason would so let in fifty others; these are adjusted as if the thousand were quiet.
    """
    for place, group in enumerate(groups):
        kept = group
        if place:
            rest = [change for each in groups[place:] for change in each.changes]
            raised = {id(change) for change in _raised(rest, series, rate)}
            parts = ([c for c in part if id(c) in raised] for part in (group.near, group.changes))
            kept = _Group(group.since, *parts)
        if len(kept.changes):
            yield kept


def _raised(changes: Sequence[Change], series: int, rate: float) -> Iterator[Change]:
    for detector in Detector:
        found = [change for change in changes if change.detector is detector]
        if detector in {Detector.SUDDEN, Detector.POOL}:
            yield from found
            continue
        p = [change.p for change in found] + [1.0] * (series - len(found))
        for change, q in zip(found, adjusted(p), strict=False):
            if change.state is EventState.ACCEPTED or q <= rate:
                yield change


def _event(group: _Group, series: Sequence[Series]) -> Event:
    changes = group.changes
    states = {change.state for change in changes}
    if EventState.NEW not in {change.state for change in group.near}:
        # A weak change that is dated later than the event is as old as the event.
        states = {EventState.OPEN if state is EventState.NEW else state for state in states}
    state = next(each for each in EventState if each in states)
    shared: dict[str, tuple[Value, ...]] = {}
    for name in SHARED_FIELDS:
        values = {getattr(change.key, name) for change in changes}
        if values != {getattr(each.key, name) for each in series}:
            shared[name] = tuple(sorted(values, key=lambda value: (value is None, value)))
    alike = sum(
        all(getattr(each.key, name) in values for name, values in shared.items()) for each in series
    )
    ordered = sorted(changes, key=lambda change: (-change.weight, change.key))
    first = ordered[0]
    return Event(first.key.system, first.kind, state, group.since, tuple(ordered), shared, alike)


Nights = npt.NDArray[np.datetime64]

_BOUND = 9.0
"""Bound of a value's squared distance from a level: an outlier belongs to neither."""

_WRONG = 0.05
"""Largest probability that one of an event's changes is taken for another event's."""


def doubts(changes: Sequence[Change], nights: Nights) -> Array:
    """Each change's doubt about each night, infinite where it cannot have begun.

    When did many series change at once? Each dates its change less sharply than all of them do.
    A change's doubt about another night is how much better its own night explains its values: the
    logarithm of a likelihood ratio. The nights between the two dates decide it, each by how much
    nearer its value lies to the level before than to that after. If the other night is the true
    one, the doubt exceeds ln(2/a) with probability a at most (Ville's inequality, for both
    directions).

    Args:
        changes: the changes.
        nights: days, in order.
    """
    found = np.full((len(changes), len(nights)), np.inf)
    for row, change in zip(found, changes, strict=True):
        first = last = change.index
        if change.moved:
            first, last = change.start + 1, change.end - 1
        days = change.series.times[first : last + 1].astype("datetime64[D]")
        inside = (days[0] <= nights) & (nights <= days[-1])
        row[inside] = _doubt(change, first, last)[np.searchsorted(days, nights[inside])]
    return found


def believable(changes: int) -> float:
    """The largest doubt of a change that may have begun on the night of so many."""
    return float(np.log(2 * changes / _WRONG))


def _doubt(change: Change, first: int, last: int) -> Array:
    """Doubt about each of the series' nights from first to last."""
    if first == last:
        return np.zeros(1)
    values = change.series.values
    logarithmic = bool((values > 0).all())
    x = np.log(values) if logarithmic else values
    before, after = x[change.start : change.index], x[change.index : change.end]
    old, new = np.median(before), np.median(after)
    residuals = np.concatenate([before - old, after - new])
    least = finest_spread(np.array([old]), logarithmic=np.array([logarithmic]))
    scale = np.maximum(spreads(residuals[None, :]), least)
    near = x[first : last + 1]
    costs = [np.minimum(((near - level) / scale) ** 2, _BOUND) for level in (old, new)]
    sums = np.cumsum((costs[0] - costs[1]) / 2)
    sums = np.concatenate([[0.0], sums[:-1]])
    return np.asarray(sums - sums[change.index - first])
