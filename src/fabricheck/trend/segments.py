"""Change points: when did the level of a series change?

ruptures' optimal segmentation (PELT; Killick, Fearnhead and Eckley 2012) with squared costs, on
values whose outliers are cut off first. Each boundary that it proposes must then pass a rank test
between its two sides, and change the level by enough.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import ruptures
from scipy import ndimage

from fabricheck.trend.ranks import rank_test
from fabricheck.trend.robust import NORMAL_MAD, Array, spreads
from fabricheck.trend.settings import Settings

SHORTEST = 5
"""Fewest nights between two change points."""

_SIDE = 100
"""Most nights on each side of a boundary that are compared."""

_NEAR, _WIDE = 7, 21
"""Nights of the running medians: one follows every step, one the level of weeks."""

_CUT = 3.0
_NEARLY = 0.8
_Z95 = 1.96


@dataclass(frozen=True, slots=True)
class Step:
    """A boundary between two levels.

    Attributes:
        index: first night at the new level.
        start: first night that the old level was taken from.
        end: the night after the last one that the new level was taken from.
        p: p-value of the rank test, corrected for the number of places a boundary could have.
    """

    index: int
    start: int
    end: int
    p: float


@dataclass(frozen=True, slots=True)
class Shift:
    """How far two samples are apart, in the units of the values, with a 95 % interval."""

    middle: float
    low: float
    high: float


def change_points(values: Array, settings: Settings, smallest: float) -> list[Step]:
    """The steps of a series, oldest first.

    Args:
        values: the series; logarithms where all values are positive.
        settings: penalty, and the p-value that a step must have.
        smallest: smallest difference of the levels.
    """
    nights = len(values)
    if nights < 2 * SHORTEST:
        return []
    standard, correlation = standardised(values)
    penalty = settings.penalty * np.log(nights) * (1 + correlation) / (1 - correlation)
    if not _may_change(standard, penalty):
        return []
    segmentation = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(standard)
    bounds = segmentation.predict(pen=penalty)
    remembered = _memory(standard, bounds)
    if remembered > correlation:
        penalty = settings.penalty * np.log(nights) * (1 + remembered) / (1 - remembered)
        bounds = segmentation.predict(pen=penalty)
    inflation = (1 + remembered) / (1 - remembered)
    return _confirmed(values, [0, *map(int, bounds)], settings.alarm_p, smallest, inflation)


def _memory(standard: Array, bounds: list[int]) -> float:
    """Correlation from night to night of what is left without the levels between the bounds.

    Each level takes away what it lacks on average (Kendall's bias); a change point that is believed
    wrongly stays for months, so no doubt about the correlation speaks for it.
    """
    levels = [np.median(part) for part in np.split(standard, bounds[:-1])]
    left = standard - np.repeat(levels, np.diff([0, *bounds]))
    bounded = np.clip(left / max(float(spreads(left[None, :])[0]), 1e-12), -2.5, 2.5)
    squares = float(np.sum(bounded**2))
    estimate = float(np.sum(bounded[1:] * bounded[:-1])) / squares if squares else 0.0
    bias = (1 + 3 * estimate) * len(levels) / len(standard)
    return min(max(estimate + bias, 0.0), 0.95)


def standardised(values: Array) -> tuple[Array, float]:
    """Values in units of their noise, outliers cut off, and their correlation between nights.

    The noise is that of the differences from night to night, which steps don't enlarge; where it is
    smaller than the noise around the running median, the values follow each other.
    """
    level = running_median(values, _NEAR)
    fast = NORMAL_MAD * float(np.median(np.abs(np.diff(values)))) / np.sqrt(2)
    slow = NORMAL_MAD * float(np.median(np.abs(values - running_median(values, _WIDE))))
    scale = max(fast, slow, 1e-3 * float(np.ptp(values)), 1e-12)
    correlation = 0.0
    if slow > 0:
        correlation = min(max(1 - (fast / slow) ** 2 - 2 / np.sqrt(len(values)), 0.0), 0.9)
    cut = level + np.clip(values - level, -_CUT * scale, _CUT * scale)
    # What is left of many outliers is noise, too.
    scale = max(scale, float(np.sqrt(np.mean(np.diff(cut) ** 2) / 2)))
    return (cut - np.median(cut)) / scale, correlation


def running_median(values: Array, nights: int) -> Array:
    """Median of the nights around each night; the ends are mirrored."""
    size = min(nights, 2 * len(values) - 1)
    return np.asarray(ndimage.median_filter(values, size=size, mode="mirror"))


def _may_change(standard: Array, penalty: float) -> bool:
    """Whether two neighbouring segments gain nearly what a boundary must gain.

    Most series have no step; for them this is all that is computed. Lengths of segments grow by a
    quarter, so one of them has four fifths of what the best would gain.
    """
    sums = np.concatenate([[0.0], np.cumsum(standard)])
    stretch = SHORTEST
    while 2 * stretch <= len(standard):
        means = (sums[stretch:] - sums[:-stretch]) / stretch
        difference = float(np.max(np.abs(means[stretch:] - means[:-stretch])))
        if difference**2 * stretch / 2 > _NEARLY * penalty:
            return True
        stretch = max(stretch + 1, stretch * 5 // 4)
    return False


def _confirmed(
    values: Array, bounds: list[int], largest_p: float, smallest: float, inflation: float
) -> list[Step]:
    """The steps that pass; each that fails joins its two sides, and the rest is tested again."""
    while True:
        steps = [
            _step(values, before, bound, after, inflation)
            for before, bound, after in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        failing = [
            (step.p, step.index)
            for step in steps
            if step.p > largest_p
            or abs(
                shift_between(values[step.start : step.index], values[step.index : step.end]).middle
            )
            < smallest
        ]
        if not failing:
            return steps
        bounds.remove(max(failing)[1])


def _step(values: Array, before: int, bound: int, after: int, inflation: float) -> Step:
    start, end = max(before, bound - _SIDE), min(after, bound + _SIDE)
    left, right = values[start:bound], values[bound:end]
    places = max(len(values) // SHORTEST, 1)
    return Step(bound, start, end, min(1.0, rank_test(left, right, inflation) * places))


def shift_between(before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> Shift:
    """The Hodges-Lehmann shift and its interval from order statistics (Moses).

    The shift is the median of all differences between the two samples. The interval lies between
    those differences whose ranks bound the 95 % of a Mann-Whitney test.
    """
    differences = np.sort((after[:, None] - before[None, :]).ravel())
    count = len(differences)
    spread = np.sqrt(count * (len(before) + len(after) + 1) / 12)
    rank = max(int(np.floor(count / 2 - _Z95 * spread)), 0)
    return Shift(
        float(np.median(differences)),
        float(differences[rank]),
        float(differences[count - 1 - rank]),
    )
