"""The series of one system, and what each detector says of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import Series, SeriesKey
from fabricheck.measures.metrics import Direction
from fabricheck.trend import spread, window
from fabricheck.trend.accepted import Acceptance
from fabricheck.trend.events import Change, Detector, EventKind, EventState
from fabricheck.trend.pools import Members, pooled
from fabricheck.trend.robust import NORMAL_MAD, Array, Rows, adjusted, align
from fabricheck.trend.segments import LevelStep, change_points, shift_between
from fabricheck.trend.settings import Settings
from fabricheck.trend.sudden import Sudden, borne_out, sudden

_LATEST = max(window.RECENT)
_TOLERANCE = 3
"""Nights by which the date of a step and that of its acceptance may differ."""

_CURRENT = 5
"""Nights that say how a series stands."""


@dataclass(slots=True)
class Row:
    """A series as the detectors see it.

    Attributes:
        series: its finite values.
        logarithmic: whether ``x`` holds logarithms, so that differences are ratios.
        x: what is judged.
        worse: sign of a change for the worse.
        steps: confirmed steps.
        accepted: first nights at levels that were accepted.
        start: first night of the history that tonight is compared with.
    """

    series: Series
    logarithmic: bool
    x: Array
    worse: int
    steps: list[LevelStep] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    start: int = 0

    def relative(self, difference: float, level: float) -> float | None:
        """A difference of ``x`` as a relative change."""
        if self.logarithmic:
            return float(np.expm1(difference))
        return difference / abs(level) if level else None

    def is_accepted(self, index: int, tolerance: int = _TOLERANCE) -> bool:
        """Whether a change at this night is one that somebody has accepted."""
        return any(abs(place - index) <= tolerance for place in self.accepted)

    def kind(self, difference: float) -> EventKind:
        """What a difference of ``x`` is."""
        if not self.worse:
            return EventKind.CHANGED
        return EventKind.REGRESSION if difference * self.worse > 0 else EventKind.IMPROVEMENT


def row_of(series: Series, accepted: Sequence[Acceptance] = ()) -> Row:
    """A series as the detectors see it, with what was accepted of it."""
    finite = np.isfinite(series.values)
    if not finite.all():
        series = replace(
            series,
            times=series.times[finite],
            values=series.values[finite],
            sessions=series.sessions[finite],
        )
    logarithmic = bool((series.values > 0).all())
    x = np.log(series.values) if logarithmic else series.values
    direction = series.direction
    worse = 0 if direction is None else 1 if direction is Direction.LOWER else -1
    places = [
        int(np.searchsorted(series.times, each.begins))
        for each in accepted
        if each.fits(series.key)
    ]
    return Row(series, logarithmic, x, worse, accepted=places)


class System:
    """The series of one system, and what the detectors say about them.

    Args:
        rows: the series.
        settings: of the system.
        newest: the last night.
        looks: how the last nights are asked.
    """

    def __init__(
        self,
        rows: list[Row],
        settings: Settings,
        newest: np.datetime64,
        looks: window.Looks = window.SINGLE,
    ) -> None:
        self._rows, self._settings = rows, settings
        self._newest, self._looks = newest, looks
        self._new = newest - np.timedelta64(round(settings.new_days * 86400), "s")
        smallest = [self._smallest(row) for row in rows]
        steps = change_points([row.x for row in rows], settings, smallest)
        for row, found in zip(rows, steps, strict=True):
            row.steps = found
            row.start = self._start(row)
        self._tonight = Rows(
            align([row.x[row.start :] for row in rows]),
            np.array([row.logarithmic for row in rows], dtype=bool),
            np.array([row.worse for row in rows], dtype=np.int8),
            align([_ages(row.series.times) for row in rows]),
        )

    def changes(self) -> tuple[list[Change], int]:
        """The changes, and of how many series the level could be judged tonight."""
        alarms = self._alarms()
        changes = self._steps(alarms)
        changes += self._of_pools(alarms, {id(change.series) for change in changes})
        changes += self._noisier(self._tonight.matrix, {id(change.series) for change in changes})
        seen = {id(change.series) for change in changes if change.detector is not Detector.SPREAD}
        keys = [row.series.key for row in self._rows]
        whole = replace(self._tonight, matrix=align([row.x for row in self._rows]))
        for found in borne_out(list(sudden(whole, self._settings)), keys):
            row = self._rows[found.row]
            if id(row.series) not in seen and len(row.x) + found.place >= row.start:
                changes.append(self._sudden(row, found))
        return changes, int(np.sum(alarms.history > 0))

    def _alarms(self) -> window.Alarms:
        return window.tonight(self._tonight, self._settings, self._looks)

    def _of_pools(self, alarms: window.Alarms, known: set[int]) -> list[Change]:
        """Changes of series that are plain in what they share: see ``fabricheck.trend.pools``."""
        judged = [
            row
            for row, nights in zip(self._rows, alarms.history, strict=True)
            if nights and row.worse and row.logarithmic
        ]
        members = self._members(judged)
        made = list(pooled(members))
        rows = [row_of(each.series) for each in made]
        # A mean of many shows surely what is too little for one.
        settings = replace(self._settings, smallest_change=self._settings.smallest_change / 2)
        system = System(rows, settings, self._newest, window.POOLED)
        raised: dict[int, list[Change]] = {}
        for change in system._steps(system._alarms()) if rows else ():
            raised.setdefault(id(change.series), []).append(change)
        sets = [pool.members for pool in made]
        found = [
            (
                change,
                *members.moved(members.narrowest(sets, pool.members, change.since), change.since),
            )
            for pool, row in zip(made, rows, strict=True)
            for change in raised.get(id(row.series), ())
        ]
        changes: list[Change] = []
        # The widest that moved as a whole; then, of what none of them explains, the narrowest.
        for blamed in (True, False):
            for change, places, whole in found if blamed else found[::-1]:
                own = [judged[place] for place in places]
                fresh = [row for row in own if id(row.series) not in known]
                if whole == blamed and (whole or len(fresh) == len(own)):
                    changes += filter(None, (self._with_its_pool(row, change) for row in fresh))
                    known = known | {id(row.series) for row in own}
        return changes

    def _members(self, rows: Sequence[Row]) -> Members:
        """The series that pools are made of: since their start, and no longer than a history."""
        most = self._settings.history_nights + _LATEST
        parts = [slice(max(row.start, len(row.x) - most), len(row.x)) for row in rows]
        begun: dict[str, np.datetime64] = {}
        sessions = [
            row.series.sessions[part].tolist() for row, part in zip(rows, parts, strict=True)
        ]
        for row, part, names in zip(rows, parts, sessions, strict=True):
            for name, time in zip(names, row.series.times[part], strict=True):
                begun[name] = min(begun.get(name, time), time)
        nights = sorted(begun, key=begun.__getitem__)
        number = {name: place for place, name in enumerate(nights)}
        deviations = np.full((len(rows), len(nights)), np.nan)
        for values, row, part, names in zip(deviations, rows, parts, sessions, strict=True):
            values[[number[name] for name in names]] = row.worse * row.x[part]
        deviations = deviations[:, -most:]
        logarithmic = np.ones(len(rows), dtype=bool)
        level, scale = window.level_and_scale(deviations[:, :-_LATEST], logarithmic)
        return Members(
            [row.series.key for row in rows],
            deviations - level[:, None],
            scale,
            np.array([begun[name] for name in nights[-most:]], dtype="datetime64[s]"),
            np.array(nights[-most:], dtype=np.str_),
        )

    def _with_its_pool(self, row: Row, change: Change) -> Change | None:
        """The change of one series of a pool that moved."""
        index = int(np.searchsorted(row.series.times, change.since))
        if not row.start < index < len(row.x):
            return None
        start = max(row.start, index - self._settings.history_nights)
        step = LevelStep(index, start, len(row.x), change.p)
        own = self._change(row, Detector.POOL, step, change.q)
        state = EventState.ACCEPTED if row.is_accepted(index) else change.state
        return replace(own, kind=change.kind, state=state)

    def visible(self) -> dict[SeriesKey, float]:
        """The smallest change that each series can show by now, relative to its level."""
        found = {}
        visible = window.visible(self._tonight, self._settings)
        for row, change in zip(self._rows, visible, strict=True):
            relative = row.relative(float(change), float(np.median(row.series.values)))
            if np.isfinite(change) and relative is not None:
                found[row.series.key] = relative
        return found

    def _smallest(self, row: Row) -> float:
        if row.logarithmic:
            return float(np.log1p(self._settings.smallest_change))
        return self._settings.smallest_change * abs(float(np.median(row.x)))

    def _start(self, row: Row) -> int:
        """Tonight is compared with the level since the last step that left nights enough."""
        latest = len(row.x) - self._settings.least_history - _LATEST
        steps = [step.index for step in row.steps if step.index <= latest]
        return max([0, *steps, *(place for place in row.accepted if place < len(row.x))])

    def _steps(self, alarms: window.Alarms) -> list[Change]:
        """Change points, and tonight's alarms that are no part of one."""
        q, tested = np.ones(len(alarms.p)), alarms.history > 0
        q[tested] = adjusted(alarms.p[tested])
        found = [(row, step) for row in self._rows for step in row.steps]
        quiet = sum(not row.steps for row in self._rows)
        adjusted_steps = adjusted([step.p for _, step in found] + [1.0] * quiet)
        changes = []
        dated: dict[int, list[LevelStep]] = {}
        for (row, step), step_q in zip(found, adjusted_steps, strict=False):
            if step_q <= self._settings.false_discovery_rate:
                dated.setdefault(id(row), []).append(step)
                changes.append(self._change(row, Detector.CHANGE_POINT, step, float(step_q)))
        raised = (alarms.p <= self._settings.alarm_p) & (q <= self._settings.false_discovery_rate)
        for place in np.flatnonzero(raised):
            row = self._rows[place]
            recent = len(row.x) - int(alarms.nights[place])
            start = max(row.start, recent - int(alarms.history[place]))
            step = LevelStep(recent, start, len(row.x), float(alarms.p[place]))
            change = self._change(row, Detector.WINDOW, step, float(q[place]))
            known = any(
                each.index > row.start
                and np.sign(_difference(row, each)) == np.sign(alarms.score[place])
                for each in dated.get(id(row), ())
            )
            enough = change.effect is None or change.weight >= self._settings.smallest_change
            if enough and not known:
                changes.append(change)
        return changes

    def _change(self, row: Row, detector: Detector, step: LevelStep, q: float) -> Change:
        old, new = slice(step.start, step.index), slice(step.index, step.end)
        before, after = row.x[old], row.x[new]
        shift = shift_between(before, after)
        values = row.series.values
        level = float(np.median(values[old]))
        return Change(
            series=row.series,
            kind=row.kind(shift.middle),
            state=self._state(row, step.index, float(np.median(before)), float(np.median(after))),
            detector=detector,
            index=step.index,
            start=step.start,
            end=step.end,
            before=level,
            after=float(np.median(values[new])),
            effect=row.relative(shift.middle, level),
            low=row.relative(shift.low, level),
            high=row.relative(shift.high, level),
            p=step.p,
            q=q,
        )

    def _state(self, row: Row, index: int, before: float, after: float) -> EventState:
        if row.is_accepted(index):
            return EventState.ACCEPTED
        current = float(np.median(row.x[max(index, len(row.x) - _CURRENT) :]))
        if abs(current - before) < abs(current - after):
            return EventState.RECOVERED
        # Of a case that rests, a week of nights takes longer than a week.
        few = len(row.x) - index <= self._settings.new_days
        return EventState.NEW if few or row.series.times[index] >= self._new else EventState.OPEN

    def _noisier(self, matrix: Array, moved: set[int]) -> list[Change]:
        p, nights, ratio = spread.noisier(matrix, self._settings)
        q = adjusted(p)
        raised = (
            (p <= self._settings.alarm_p)
            & (q <= self._settings.false_discovery_rate)
            & (ratio >= self._settings.noisier_ratio)
        )
        changes = []
        for place in np.flatnonzero(raised):
            row = self._rows[place]
            if id(row.series) in moved:
                continue
            index = len(row.x) - int(nights[place])
            start = max(row.start, index - self._settings.history_nights)
            changes.append(
                Change(
                    series=row.series,
                    kind=EventKind.NOISIER,
                    state=_noisy_state(row, index),
                    detector=Detector.SPREAD,
                    index=index,
                    start=start,
                    end=len(row.x),
                    before=_relative_spread(row.series.values[start:index]),
                    after=_relative_spread(row.series.values[index:]),
                    effect=float(ratio[place]) - 1,
                    p=float(p[place]),
                    q=float(q[place]),
                )
            )
        return changes

    def _sudden(self, row: Row, found: Sudden) -> Change:
        index = len(row.x) + found.place
        values = row.series.values
        level = float(np.median(values[:index]))
        difference = float(row.x[index] - np.median(row.x[:index]))
        standing = EventState.NEW if found.holds else EventState.RECOVERED
        return Change(
            series=row.series,
            kind=row.kind(difference),
            state=EventState.ACCEPTED if row.is_accepted(index) else standing,
            detector=Detector.SUDDEN,
            index=index,
            start=0,
            end=len(row.x),
            before=level,
            after=float(values[index]),
            effect=row.relative(difference, level),
            p=1 / (found.history + 1),
        )


def _ages(times: npt.NDArray[np.datetime64]) -> Array:
    """How many nights before the last value each of the last ones was measured."""
    lately = times[-_LATEST:]
    return np.asarray(np.round((times[-1:] - lately) / np.timedelta64(1, "D")))


def _noisy_state(row: Row, index: int) -> EventState:
    if row.is_accepted(index, _LATEST):
        return EventState.ACCEPTED
    # The shortest window is the first that can see it.
    return EventState.NEW if len(row.x) - index <= min(spread.RECENT) else EventState.OPEN


def _difference(row: Row, step: LevelStep) -> float:
    return float(
        np.median(row.x[step.index : step.end]) - np.median(row.x[step.start : step.index])
    )


def _relative_spread(values: npt.NDArray[np.float64]) -> float:
    level = float(np.median(values))
    return float(np.median(np.abs(values - level))) * NORMAL_MAD / (abs(level) or 1.0)
