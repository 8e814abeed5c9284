"""How often a detector finds a change, how soon, and how often it finds one that is not there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fabricheck.history.series import Series
from fabricheck.trend.detect import analyse
from fabricheck.trend.events import EventState
from fabricheck.trend.robust import Array
from fabricheck.trend.settings import Settings
from simulation.nights import (
    DAY,
    FIRST_NIGHT,
    Injected,
    Shape,
    World,
    is_changed,
    latencies,
)

Detector = Callable[[Sequence[Series]], list[list[int]]]
"""For each series the first nights of the changes that it would show tonight."""

BEFORE = 100
"""Nights before the change, and before the first night on which false alarms are counted."""

QUIET_NIGHTS = 20
RECENT = 10
"""A detector that dates changes raises those of so many last nights."""

_OURS_RECENT = 30
"""Nights back to which a change of the spread can be dated."""

_TOLERANCE = 5
_Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Rate:
    """A share, counted.

    Attributes:
        hits: how many.
        trials: of how many.
        design: variance of the hits over what it were if the trials knew nothing of each other
            (Kish's design effect): one series' false alarms come in bursts.
    """

    hits: int
    trials: int
    design: float = 1.0

    @property
    def value(self) -> float:
        """The share."""
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval after Wilson (1927), of as many trials as it is worth."""
        z = _Z95**2 / (self.trials / self.design)
        middle = (self.value + z / 2) / (1 + z)
        reach = np.sqrt(z * self.value * (1 - self.value) + z**2 / 4) / (1 + z)
        return max(0.0, float(middle - reach)), min(1.0, float(middle + reach))


def pooled(parts: Iterable[Sequence[Rate]]) -> list[Rate]:
    """Rates that were counted with several seeds, each as one."""
    return [
        Rate(
            sum(rate.hits for rate in rates),
            sum(rate.trials for rate in rates),
            float(np.mean([rate.design for rate in rates])),
        )
        for rates in zip(*parts, strict=True)
    ]


def ours(settings: Settings, series: Sequence[Series]) -> list[list[int]]:
    """Our detectors, each series for itself: not adjusted for the number of series, and no pool."""
    settings = replace(settings, false_discovery_rate=1.0)
    alone = [
        replace(each, key=replace(each.key, system=f"{each.key.system}{place}"))
        for place, each in enumerate(series)
    ]
    trend = analyse(alone, {each.key.system: settings for each in alone})
    places = {each.key: place for place, each in enumerate(alone)}
    found: list[list[int]] = [[] for _ in series]
    for event in trend.events:
        for change in event.changes:
            if change.state in {EventState.NEW, EventState.OPEN} and change.index >= len(
                change.series
            ) - max(RECENT, 30):
                found[places[change.key]].append(change.index)
    return found


def our_detector(settings: Settings) -> Detector:
    """Our detectors as one to be measured."""
    return partial(ours, settings)


def detection(
    detector: Detector,
    world: World,
    change: Injected,
    noise: Sequence[Array],
    *,
    nights: int,
    count: int,
    seed: int,
) -> list[Rate]:
    """How often a change is found within 1, 2, … nights of its first.

    Only an alarm that dates it within five nights counts.
    """
    history = change.night + nights
    whole = latencies(world, change, noise, nights=history, count=count, seed=seed)
    whole = [each for each in whole if is_changed(change, each)]
    found = np.zeros(len(whole), dtype=bool)
    rates = []
    for night in range(change.night + 1, history + 1):
        tonight = [until(each, night) for each in whole]
        for place, alarms in enumerate(detector(tonight)):
            begin = np.searchsorted(tonight[place].times, FIRST_NIGHT + change.night * DAY)
            found[place] |= any(abs(index - begin) <= _TOLERANCE for index in alarms)
        rates.append(Rate(int(found.sum()), len(whole)))
    return rates


def false_alarms(
    detector: Detector,
    world: World,
    noise: Sequence[Array],
    *,
    count: int,
    seed: int,
    history: int = BEFORE,
) -> Rate:
    """How often a series in which nothing changes is raised, for each series and night.

    A series that is raised on several nights in a row was raised once.
    """
    whole = latencies(world, None, noise, nights=history + QUIET_NIGHTS, count=count, seed=seed)
    before = np.ones(count, dtype=bool)
    hits = np.zeros(count, dtype=np.int64)
    for night in range(history, history + QUIET_NIGHTS + 1):
        tonight = [until(each, night) for each in whole]
        raised = np.array([bool(alarms) for alarms in detector(tonight)])
        if night > history:
            hits += raised & ~before
        before = raised
    design = float(hits.var() / hits.mean()) if hits.any() else 1.0
    return Rate(int(hits.sum()), count * QUIET_NIGHTS, max(1.0, design))


def until(series: Series, nights: int) -> Series:
    """What a series had when so many nights had passed, whether it has values of them or not."""
    end = int(np.searchsorted(series.times, FIRST_NIGHT + nights * DAY))
    return Series(series.key, series.times[:end], series.values[:end], series.sessions[:end])


def fleet(
    settings: Settings,
    world: World,
    noise: Sequence[Array],
    *,
    size: float,
    changed: int,
    count: int,
    rounds: int,
    nights: int,
    seed: int,
) -> list[Rate]:
    """How often a step of some series among many is found within 1, 2, … nights.

    All are judged together, so that Benjamini and Hochberg's adjustment weighs their number.
    """
    step = Injected(Shape.STEP, size, BEFORE)
    length = BEFORE + nights
    found = np.zeros((rounds, changed), dtype=bool)
    rates = []
    fleets = []
    for number in range(rounds):
        quiet = latencies(
            world, None, noise, nights=length, count=count - changed, seed=seed + 2 * number
        )
        stepped = latencies(
            world, step, noise, nights=length, count=changed, seed=seed + 2 * number + 1
        )
        fleets.append([_renamed(each, "stepped") for each in stepped] + quiet)
    for night in range(BEFORE + 1, length + 1):
        for number, members in enumerate(fleets):
            tonight = [until(each, night) for each in members]
            trend = analyse(tonight, {"simulated": settings})
            raised = {change.key for event in trend.events for change in event.changes}
            found[number] |= [each.key in raised for each in members[:changed]]
        rates.append(Rate(int(found.sum()), found.size))
    return rates


def _renamed(series: Series, environ: str) -> Series:
    key = replace(series.key, environ=environ)
    return Series(key, series.times, series.values, series.sessions)
