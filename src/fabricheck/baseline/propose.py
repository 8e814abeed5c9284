"""Proposing references: which nights count, what speaks against them, and what they say."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from fabricheck.baseline.noise import Estimate, Rates, estimates, is_too_noisy
from fabricheck.baseline.proposal import (
    Proposal,
    Proposed,
    ReferenceCase,
    ReferenceState,
    Refused,
    UnacceptedStep,
)
from fabricheck.baseline.software import Used, change_of
from fabricheck.baseline.steps import steps_of
from fabricheck.history.series import Series, SeriesKey
from fabricheck.judge.reference import CaseKey, Reference, Tolerance
from fabricheck.judge.references import exists, resolve
from fabricheck.measures.curve import Variable
from fabricheck.measures.gpu import is_fake
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import CHECKS, REGISTRY
from fabricheck.trend.accepted import Acceptance
from fabricheck.trend.detect import Trend
from fabricheck.trend.events import Change, Detector, EventState
from fabricheck.trend.settings import Settings
from fabricheck.units import percent

LEAST_NIGHTS, MOST_NIGHTS = 20, 60

_DIGITS = 4
_MOVED = 4.0
"""A median that moved by so many standard errors is another one."""

_TOLERANCE_MOVED = 1.5
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        least: fewest nights of a variable.
        most: most nights: the latest.
        since: no night before, ``None`` for any.
        rates: how often a case in which nothing changed may be raised.
        fresh: propose the same again, with today's nights.
    """

    least: int = LEAST_NIGHTS
    most: int = MOST_NIGHTS
    since: datetime | None = None
    rates: Rates = field(default_factory=Rates)
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a system.

    Attributes:
        trend: its trend.
        settings: settings of the trend.
        accepted: steps that were accepted.
        used: by case, with what each session measured.
        references: its reference file, which need not exist.
    """

    trend: Trend
    settings: Settings
    accepted: Sequence[Acceptance]
    used: Mapping[ReferenceCase, Sequence[Used]]
    references: Path


def cases_of(series: Iterable[Series]) -> dict[ReferenceCase, list[Series]]:
    """The series of each case that can have references, others left out.

    Of a case that was measured by several programs, or on several numbers of ranks, the series of
    the latest: references are for what is measured from now on.
    """
    found: dict[ReferenceCase, dict[tuple[int, str], list[Series]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for each in series:
        case = case_of(each.key)
        if case is not None and len(each):
            found[case][each.key.ranks, each.key.program].append(each)
    return {case: max(alike.values(), key=_latest) for case, alike in found.items()}


def _latest(series: Sequence[Series]) -> np.datetime64:
    return np.datetime64(max(each.times[-1] for each in series))


def case_of(key: SeriesKey) -> ReferenceCase | None:
    """The case of a series, ``None`` for what is no curve of the suite's, or of no real GPU."""
    benchmark = REGISTRY.get(key.benchmark)
    if CHECKS.get(key.check) is None or benchmark is None or not key.placement:
        return None
    if is_fake(key.program):
        return None
    if (key.metric, key.statistic) not in benchmark.recorded:
        return None
    place = f"{key.system}:{key.partition}"
    return ReferenceCase(
        key.check, CaseKey(key.system, place, key.environ, key.benchmark, key.placement)
    )


def variable_of(key: SeriesKey) -> Variable:
    """The variable of a series that belongs to a case."""
    return Variable(Metric(key.metric), key.statistic, key.size)


def propose(
    system: str,
    cases: Mapping[ReferenceCase, Sequence[Series]],
    fields: Mapping[str, Sequence[str | int]],
    evidence: Evidence,
    request: Request,
) -> Proposal:
    """Propose references for cases of a system whose fields have the given values.

    Raises:
        FabricheckError: if the reference file is wrong.
    """
    steps = steps_of(evidence.trend, system, fields)
    proposed: list[Proposed] = []
    refused: list[Refused] = []
    others: list[ReferenceCase] = []
    for case, members in sorted(cases.items(), key=lambda pair: str(pair[0])):
        if not case.has(fields):
            others.append(case)
            continue
        found = _Case(case, members, evidence, request).judge(steps)
        if isinstance(found, Proposed):
            proposed.append(found)
        else:
            refused.append(found)
    needed = sorted({number for each in proposed for number in each.steps})
    numbers = {number: place for place, number in enumerate(needed)}
    return Proposal(
        system,
        tuple(_renumbered(each, numbers) for each in proposed),
        tuple(refused),
        tuple(_accepted_with(proposed, number, *steps[number]) for number in needed),
        (*others, *(each.case for each in refused)),
    )


class _Case:
    """The nights of a case."""

    def __init__(
        self, case: ReferenceCase, series: Sequence[Series], evidence: Evidence, request: Request
    ) -> None:
        self._case, self._evidence, self._request = case, evidence, request
        self._series = sorted(series, key=lambda each: each.key)
        self._windows = [self._window(each) for each in self._series]

    def judge(
        self, steps: Sequence[tuple[UnacceptedStep, frozenset[SeriesKey]]]
    ) -> Proposed | Refused:
        """The case's references, or what speaks against them."""
        reasons = [
            *self._short(),
            *self._silent(),
            *self._changed(),
            *self._no_logarithm(),
            *change_of(self._used()),
        ]
        if reasons:
            return Refused(self._case, tuple(reasons))
        found = self._estimates()
        if is_too_noisy(list(found.values())):
            return Refused(
                self._case,
                ("the noise asks for bounds of ten times the median and more: make it quieter",),
            )
        return self._proposed(found, steps)

    def _window(self, series: Series) -> slice:
        """The latest nights since the window begins and the last step was accepted."""
        starts = [each.begins for each in self._evidence.accepted if each.fits(series.key)]
        if self._request.since:
            starts.append(np.datetime64(self._request.since.replace(tzinfo=None), "s"))
        begin = int(np.searchsorted(series.times, max(starts))) if starts else 0
        return slice(max(begin, len(series) - self._request.most), len(series))

    def _short(self) -> list[str]:
        least = self._request.least
        short = [
            (window.stop - window.start, str(variable_of(series.key)))
            for series, window in zip(self._series, self._windows, strict=True)
            if window.stop - window.start < least
        ]
        if not short:
            return []
        nights, name = min(short)
        return [f"too few nights, {nights} of {name}, expected {least}: measure more"]

    def _silent(self) -> list[str]:
        days = self._evidence.settings.silent_days
        newest = self._evidence.trend.newest
        old = None if newest is None else newest - np.timedelta64(round(days * 86400), "s")
        silent = [each for each in self._series if old is not None and each.times[-1] < old]
        if not silent:
            return []
        first = min(silent, key=lambda each: each.times[-1])
        return [f"{variable_of(first.key)} was last measured on {_day(first.times[-1])}"]

    def _changed(self) -> list[str]:
        """Changes inside the window; a single bad night moves neither median nor spread."""
        starts = {
            series.key: series.times[window.start]
            for series, window in zip(self._series, self._windows, strict=True)
            if window.start < window.stop
        }
        found = [
            change
            for event in self._evidence.trend.events
            for change in event.changes
            if change.key in starts
            and change.since > starts[change.key]
            and not (change.detector is Detector.SUDDEN and change.state is EventState.RECOVERED)
        ]
        if not found:
            return []
        last = max(change.since for change in found)
        names = ", ".join(str(variable_of(change.key)) for change in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        return [
            f"a change inside the window, {_words(found[0])}: {names}{more}; accept the step, or "
            f"propose --since {_day(last)}"
        ]

    def _no_logarithm(self) -> list[str]:
        zero = [
            variable_of(series.key)
            for series, window in zip(self._series, self._windows, strict=True)
            if not (series.values[window] > 0).all()
            or series.key.unit != Metric(series.key.metric).row.unit
        ]
        return [f"values of 0, or another unit than the suite's: {zero[0]}"] if zero else []

    def _used(self) -> list[Used]:
        """What the sessions of the window measured with."""
        sessions = {
            str(session)
            for series, window in zip(self._series, self._windows, strict=True)
            for session in series.sessions[window]
        }
        used = self._evidence.used.get(self._case, ())
        return [each for each in used if each.session in sessions]

    def _estimates(self) -> dict[SeriesKey, Estimate]:
        groups: dict[tuple[str, str], list[tuple[Series, slice]]] = defaultdict(list)
        for series, window in zip(self._series, self._windows, strict=True):
            groups[series.key.metric, series.key.statistic].append((series, window))
        found: dict[SeriesKey, Estimate] = {}
        for (metric, _), members in groups.items():
            values = [series.values[window] for series, window in members]
            direction = Metric(metric).row.direction
            made = estimates(values, direction, self._request.rates, len(self._series))
            found.update({m.key: e for (m, _), e in zip(members, made, strict=True)})
        return found

    def _proposed(
        self,
        found: Mapping[SeriesKey, Estimate],
        steps: Sequence[tuple[UnacceptedStep, frozenset[SeriesKey]]],
    ) -> Proposed:
        variables = {variable_of(key): _reference(key, each) for key, each in found.items()}
        errors = {variable_of(key): each.error for key, each in found.items()}
        held, tolerance = self._held()
        state = _state(variables, errors, held, tolerance)
        times = [series.times[window] for series, window in self._pairs()]
        used = self._used()
        # Rounded up, but never to the critical bound itself.
        share = max(each.warning for each in found.values())
        return Proposed(
            case=self._case,
            state=ReferenceState.CHANGED
            if state is ReferenceState.SAME and self._request.fresh
            else state,
            variables={str(name): each for name, each in variables.items()},
            before={str(name): each.value for name, each in held.items()},
            warning=min(math.ceil(share * 100) / 100, 0.99),
            samples=min(each.nights for each in found.values()),
            first=_day(min(each[0] for each in times)),
            last=_day(max(each[-1] for each in times)),
            commit=used[-1].commit if used else "",
            software=used[-1].software if used else "",
            steps=tuple(
                number for number, (_, keys) in enumerate(steps) if not keys.isdisjoint(found)
            ),
        )

    def _pairs(self) -> Iterable[tuple[Series, slice]]:
        return zip(self._series, self._windows, strict=True)

    def _held(self) -> tuple[Mapping[Variable, Reference], Tolerance | None]:
        path = self._evidence.references
        return resolve(path, self._case.check, self._case.key) if exists(path) else ({}, None)


def _reference(key: SeriesKey, estimate: Estimate) -> Reference:
    """Rounded outwards, so that rounding raises nothing."""
    lower = math.floor(estimate.lower * 1000) / 1000
    upper = math.ceil(estimate.upper * 1000) / 1000
    return Reference(float(f"{estimate.value:.{_DIGITS}g}"), lower, upper, key.unit)


def _state(
    variables: Mapping[Variable, Reference],
    errors: Mapping[Variable, float],
    held: Mapping[Variable, Reference],
    tolerance: Tolerance | None,
) -> ReferenceState:
    """Whether the references that hold say the same, as far as noise can tell."""
    if tolerance is None or tolerance.kind != "measured" or not variables.keys() <= held.keys():
        return ReferenceState.NEW
    if tolerance.expired:
        return ReferenceState.CHANGED
    for name, new in variables.items():
        old = held[name]
        # Both medians have an error, that of the old one is taken to be the same.
        enough = max(_MOVED * math.sqrt(2) * errors[name], 10.0**-_DIGITS)
        if not old.value or abs(math.log(new.value / old.value)) > enough:
            return ReferenceState.CHANGED
        for one, other in ((new.lower, old.lower), (new.upper, old.upper)):
            low, high = sorted((abs(one or 0.0), abs(other or 0.0)))
            if high > _TOLERANCE_MOVED * low:
                return ReferenceState.CHANGED
    return ReferenceState.SAME


def _accepted_with(
    proposed: Sequence[Proposed], number: int, step: UnacceptedStep, keys: frozenset[SeriesKey]
) -> UnacceptedStep:
    """A step for the cases that get references: those refused are raised again."""
    own = [each.case for each in proposed if number in each.steps]
    return step if {case_of(key) for key in keys} <= set(own) else step.of_cases(own)


def _renumbered(proposed: Proposed, numbers: Mapping[int, int]) -> Proposed:
    return replace(proposed, steps=tuple(numbers[number] for number in proposed.steps))


def _words(change: Change) -> str:
    effect = "" if change.effect is None else f" of {percent(change.effect)}"
    return f"{change.kind}{effect} since {_day(change.since)}"


def _day(time: np.datetime64) -> str:
    return str(time.astype("datetime64[D]"))
