"""What changed beside the measurements: the differences in provenance across an event.

A difference speaks for itself if the series that changed saw it and the others did not. This is
Youden's index (1950, *Index for rating diagnostic tests*): the share of the changed series that
saw the difference, less the share of the unchanged ones that did.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from fabricheck.history.provenance import Circumstances, Provenance, case_of
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series, SeriesKey
from fabricheck.nodes.names import fold
from fabricheck.record.facts import FIELDS, MACHINE, NODES, SOFTWARE
from fabricheck.trend.events import Event

REACH = 2
"""Nights by which a change may be dated wrongly; a difference so near counts as across it."""


_MARGIN = np.timedelta64(7, "D")
"""Series that did not change may have been measured less often than those that did."""

Fact = tuple[str, str, str]
"""Field, value before, value after."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that was another before an event than after it.

    Attributes:
        field: which fact, one of ``fabricheck.record.facts.FIELDS``.
        before: its value before.
        after: its value after.
        where: the nodes, folded as ``n[1-4]``, or the partitions that it was seen on.
        since: when it was seen first.
        explained: the changed series that saw it.
        contradicted: the series without change that saw it too.
        changed: number of series of the event.
        unchanged: number of the other series that were measured on both sides of the event.
    """

    field: str
    before: str
    after: str
    where: str
    since: np.datetime64
    explained: tuple[SeriesKey, ...]
    contradicted: tuple[SeriesKey, ...]
    changed: int
    unchanged: int

    @property
    def score(self) -> float:
        """1 if all changed series saw it and no other; 0 or less if it says nothing."""
        return len(self.explained) / self.changed - len(self.contradicted) / max(self.unchanged, 1)


@dataclass(frozen=True, slots=True)
class _Move:
    """A fact that moved between two sessions of a series, ``distance`` nights from the event."""

    fact: Fact
    place: str
    time: np.datetime64
    distance: int


@dataclass(slots=True)
class _Found:
    """A difference in the making."""

    distance: int
    since: np.datetime64
    places: set[str] = field(default_factory=set)
    explained: list[SeriesKey] = field(default_factory=list)
    contradicted: list[SeriesKey] = field(default_factory=list)


def attribute(event: Event, series: Sequence[Series], provenance: Provenance) -> list[Difference]:
    """What differs in provenance across an event, most telling first.

    Args:
        event: the event.
        series: all series, those of other systems too.
        provenance: what is known of the sessions around the event.

    Returns:
        The differences, by score, then by how near to the event's night they were seen first, then
        in the order of ``FIELDS``. Empty where nothing is known, and where nothing differs.
    """
    found: dict[Fact, _Found] = {}
    seen: dict[object, list[_Move]] = {}
    for change in event.changes:
        for move in _moves_once(change.series, change.index, provenance, seen):
            one = found.setdefault(move.fact, _Found(move.distance, move.time))
            one.distance, one.since = min((one.distance, one.since), (move.distance, move.time))
            one.places.add(move.place)
            if change.key not in one.explained[-1:]:
                one.explained.append(change.key)
    changed = {change.key for change in event.changes}
    sessions = [change.session for change in event.changes]
    unchanged = 0
    for each in series:
        if each.key.system != event.system or each.key in changed:
            continue
        index = _index(each, event, sessions)
        if not 0 < index < len(each):
            continue
        unchanged += 1
        for fact in {move.fact for move in _moves_once(each, index, provenance, seen)}:
            if fact in found:
                found[fact].contradicted.append(each.key)
    return _ranked(found, len(event.changes), unchanged)


def around(events: Sequence[Event], selection: Selection) -> Selection:
    """The part of a selection whose provenance ``attribute`` looks at; nothing without events.

    Args:
        events: the events.
        selection: the selection that their series come from.
    """
    first = [
        change.series.times[_span(change.series, change.index).start]
        for event in events
        for change in event.changes
    ]
    if not first:
        return replace(selection, since=datetime.max.replace(tzinfo=UTC))
    begin: datetime = (min(first) - _MARGIN).astype(datetime)
    return replace(selection, since=begin.replace(tzinfo=UTC))


def _index(series: Series, event: Event, sessions: Sequence[str]) -> int:
    """The first night of a series that belongs to an event's night or comes after it."""
    same = np.flatnonzero(np.isin(series.sessions, sessions))
    if len(same):
        return int(same[0])
    # Nearer to the event's night than to the one before it, of those without a gap.
    _, night = min(
        (abs(change.since - event.since), change.since - change.series.times[change.index - 1])
        for change in event.changes
    )
    return int(np.searchsorted(series.times, event.since - night / 2))


def _span(series: Series, index: int) -> range:
    return range(max(0, index - 1 - REACH), min(len(series), index + 1 + REACH))


def _moves_once(
    series: Series, index: int, provenance: Provenance, seen: dict[object, list[_Move]]
) -> list[_Move]:
    """The moves of a series, looked for once for all series of a case."""
    span = _span(series, index)
    key = (case_of(series.key), tuple(series.sessions[span.start : span.stop]), index - span.start)
    if key not in seen:
        seen[key] = list(_moves(series, index, provenance))
    return seen[key]


def _moves(series: Series, index: int, provenance: Provenance) -> Iterator[_Move]:
    """What moved between neighbouring sessions; those of which nothing is known are passed over."""
    known = _Known()
    for place in _span(series, index):
        now = provenance.of(series.key, str(series.sessions[place]))
        time = np.datetime64(series.times[place], "s")
        for fact, node in known.moves(now):
            yield _Move(fact, node or series.key.partition, time, abs(place - index))


class _Known:
    """What was known last of a series, while its sessions are gone through."""

    def __init__(self) -> None:
        self._nodes: frozenset[str] = frozenset()
        self._software: dict[str, str] = {}
        self._machines: dict[str, dict[str, str]] = {}
        self._values: dict[str, set[str]] = {}

    def moves(self, now: Circumstances) -> Iterator[tuple[Fact, str]]:
        """Each fact that is another than it was last, and the node, if it is a node's."""
        for name in SOFTWARE:
            before, after = self._software.get(name), now.software.get(name)
            if before and after and before != after:
                yield (name, before, after), ""
        self._software.update(now.software)
        yield from self._machine_moves(now)
        if self._nodes and now.nodes:
            for node in sorted(now.nodes - self._nodes):
                yield (NODES, f"without {node}", f"with {node}"), ""
            for node in sorted(self._nodes - now.nodes):
                yield (NODES, f"with {node}", f"without {node}"), ""
        self._nodes = now.nodes or self._nodes

    def _machine_moves(self, now: Circumstances) -> Iterator[tuple[Fact, str]]:
        """A node is compared with itself; one that is new, with those that there were."""
        values: dict[str, set[str]] = {}
        for node, facts in now.machines.items():
            for name in facts.keys() & set(MACHINE):
                after = facts[name]
                own = self._machines.get(node, {}).get(name)
                before = {own} if own else self._values.get(name, {after})
                if after not in before:
                    yield (name, ", ".join(sorted(before)), after), node
                values.setdefault(name, set()).add(after)
            self._machines.setdefault(node, {}).update(facts)
        self._values.update(values)


def _ranked(found: dict[Fact, _Found], changed: int, unchanged: int) -> list[Difference]:
    ranked = sorted(
        found.items(),
        key=lambda each: (
            len(each[1].contradicted) / max(unchanged, 1) - len(each[1].explained) / changed,
            each[1].distance,
            FIELDS.index(each[0][0]),
            each[0],
        ),
    )
    return [
        Difference(
            *(*fact, _where(fact, one.places), one.since),
            explained=tuple(one.explained),
            contradicted=tuple(one.contradicted),
            changed=changed,
            unchanged=unchanged,
        )
        for fact, one in ranked
    ]


def _where(fact: Fact, places: set[str]) -> str:
    return fold(sorted(places)) if fact[0] in MACHINE else ", ".join(sorted(places))
