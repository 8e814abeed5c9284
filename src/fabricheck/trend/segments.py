"""Change points: when did the level of a series change?

Optimal partitioning (Jackson and others 2005) with squared costs, on values whose outliers are cut
off first. Each boundary that it proposes must then pass a rank test
between its two sides, and change the level by enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from fabricheck.trend.robust import NORMAL_MAD, Array, Flags, medians, rank_test, spreads
from fabricheck.trend.settings import Settings

SHORTEST = 5
"""Fewest nights between two change points."""

_SIDE = 100
"""Most nights on each side of a boundary that are compared."""

_NEAR, _WIDE = 7, 21
"""Nights of the running medians: one follows every step, one the level of weeks."""

_CUT = 3.0
_NEARLY = 0.8
_ROWS = 512
_Z95 = 1.96


@dataclass(frozen=True, slots=True)
class LevelStep:
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


def change_points(
    rows: Sequence[Array], settings: Settings, smallest: Sequence[float]
) -> list[list[LevelStep]]:
    """The steps of each series, oldest first.

    Args:
        rows: the series; logarithms where all values are positive.
        settings: penalty, and the p-value that a step must have.
        smallest: smallest difference of the levels of each series.
    """
    found: list[list[LevelStep]] = [[] for _ in rows]
    for places in _alike(rows):
        # Most series have no step; for them this is all that is computed, many at a time.
        standard, correlation = standardised(np.array([rows[place] for place in places]))
        penalties = settings.penalty * np.log(standard.shape[1]) * _longer(correlation)
        for row in np.flatnonzero(_may_change(standard, penalties)):
            place = places[row]
            found[place] = _steps(
                rows[place], standard[row], correlation[row], settings, smallest[place]
            )
    return found


def _alike(rows: Sequence[Array]) -> Iterator[list[int]]:
    """Places of series that are long enough and as long as each other, some hundreds at a time."""
    lengths: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if len(row) >= 2 * SHORTEST:
            lengths.setdefault(len(row), []).append(place)
    for places in lengths.values():
        for start in range(0, len(places), _ROWS):
            yield places[start : start + _ROWS]


def _longer(correlation: Array) -> Array:
    """How many nights that follow each other are worth one that doesn't: AR(1), long segments."""
    return (1 + correlation) / (1 - correlation)


def _steps(
    values: Array, standard: Array, correlation: Array, settings: Settings, smallest: float
) -> list[LevelStep]:
    penalty = settings.penalty * np.log(len(values))
    bounds = partition(standard, penalty * _longer(correlation))
    remembered = _memory(standard, bounds)
    if remembered > correlation:
        bounds = partition(standard, penalty * _longer(remembered))
    return _confirmed(values, bounds, settings.alarm_p, smallest, float(_longer(remembered)))


def partition(values: Array, penalty: Array | float) -> list[int]:
    """The bounds, with both ends, of the segments with the least squares about their means.

    Args:
        values: one series.
        penalty: what each segment adds to the squares.
    """
    nights = len(values)
    sums = np.pad(np.cumsum(values), (1, 0))
    shares = 1 / np.arange(nights, 0, -1)
    # The squares that segments up to each night save, and where the last of these begins.
    saved, last = np.full(nights + 1, -np.inf), np.zeros(nights + 1, int)
    saved[0] = 0
    for end in range(SHORTEST, nights + 1):
        starts = slice(end - SHORTEST + 1)
        gains = (sums[end] - sums[starts]) ** 2 * shares[nights - end :][starts] + saved[starts]
        last[end] = gains.argmax()
        saved[end] = gains[last[end]] - penalty
    bounds = [nights]
    while bounds[0]:
        bounds.insert(0, int(last[bounds[0]]))
    return bounds


def _memory(standard: Array, bounds: list[int]) -> Array:
    """Correlation from night to night of what is left without the levels between the bounds.

    Each level takes away what it lacks on average (Kendall's bias); a change point that is believed
    wrongly stays for months, so no doubt about the correlation speaks for it.
    """
    levels = [np.median(part) for part in np.split(standard, bounds[1:-1])]
    left = standard - np.repeat(levels, np.diff(bounds))
    bounded = np.clip(left / max(float(spreads(left[None, :])[0]), 1e-12), -2.5, 2.5)
    squares = float(np.sum(bounded**2))
    estimate = float(np.sum(bounded[1:] * bounded[:-1])) / squares if squares else 0.0
    bias = (1 + 3 * estimate) * len(levels) / len(standard)
    return np.asarray(np.clip(estimate + bias, 0.0, 0.95))


def standardised(matrix: Array) -> tuple[Array, Array]:
    """Values in units of their noise, outliers cut off, and their correlation between nights.

    The noise is that of the differences from night to night, which steps don't enlarge; where it is
    smaller than the noise around the running median, the values follow each other.

    Args:
        matrix: series of one length, one in each row.
    """
    level = running_median(matrix, _NEAR)
    fast = NORMAL_MAD * medians(np.abs(np.diff(matrix))) / np.sqrt(2)
    slow = NORMAL_MAD * medians(np.abs(matrix - running_median(matrix, _WIDE)))
    scale = np.maximum(np.maximum(fast, slow), np.maximum(1e-3 * np.ptp(matrix, axis=1), 1e-12))
    ratio = np.divide(fast, slow, out=np.ones_like(fast), where=slow > 0)
    correlation = np.clip(1 - ratio**2 - 2 / np.sqrt(matrix.shape[1]), 0.0, 0.9)
    reach = _CUT * scale[:, None]
    cut = level + np.clip(matrix - level, -reach, reach)
    # What is left of many outliers is noise, too.
    scale = np.maximum(scale, np.sqrt(np.mean(np.diff(cut) ** 2, axis=1) / 2))
    return (cut - medians(cut)[:, None]) / scale[:, None], correlation


def running_median(values: Array, nights: int) -> Array:
    """Median of the nights around each night of each row; the ends are mirrored."""
    size = min(nights, 2 * values.shape[-1] - 1)
    window = (*(1 for _ in values.shape[1:]), size)
    return np.asarray(ndimage.median_filter(values, size=window, mode="mirror"))


def _may_change(standard: Array, penalties: Array) -> Flags:
    """Whether two neighbouring segments gain nearly what a boundary must gain, for each row.

    Lengths of segments grow by a quarter, so one of them has four fifths of what the best would
    gain.
    """
    sums = np.pad(np.cumsum(standard, axis=1), ((0, 0), (1, 0)))
    gains = np.zeros(len(standard))
    stretch = SHORTEST
    while 2 * stretch <= standard.shape[1]:
        means = (sums[:, stretch:] - sums[:, :-stretch]) / stretch
        differences = np.abs(means[:, stretch:] - means[:, :-stretch]).max(axis=1)
        gains = np.maximum(gains, differences**2 * stretch / 2)
        stretch = max(stretch + 1, stretch * 5 // 4)
    return np.asarray(gains > _NEARLY * penalties)


def _confirmed(
    values: Array, bounds: list[int], largest_p: float, smallest: float, inflation: float
) -> list[LevelStep]:
    """The steps that pass; each that fails joins its two sides, and the rest is tested again.

    What passes may be the stairs of a drift. It is one change, so one of them stays.
    """
    while True:
        steps = [
            _step(values, before, bound, after, inflation)
            for before, bound, after in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        shifts = [
            shift_between(values[step.start : step.index], values[step.index : step.end]).middle
            for step in steps
        ]
        failing = [
            step
            for step, shift in zip(steps, shifts, strict=True)
            if step.p > largest_p or abs(shift) < smallest
        ] or list(_stairs(values, steps, shifts))
        if not failing:
            return steps
        bounds.remove(max(failing, key=lambda step: (step.p, step.index)).index)


def _stairs(
    values: Array, steps: Sequence[LevelStep], shifts: Sequence[float]
) -> Iterator[LevelStep]:
    """The steps beside one of the same direction that a straight line explains as well."""
    signs = np.sign([0.0, *shifts, 0.0])
    beside = (signs[1:-1] == signs[:-2]) | (signs[1:-1] == signs[2:])
    for step, has_one in zip(steps, beside, strict=True):
        if has_one and _is_line(values[step.start : step.end], step.index - step.start):
            yield step


def _is_line(values: Array, bound: int) -> bool:
    """Whether a straight line explains values as well as two levels.

    By the information criterion of Schwarz (1978, *Estimating the dimension of a model*) for
    absolute distances: the bound is a parameter more.
    """
    nights = np.arange(len(values)) - (len(values) - 1) / 2
    slope = (nights @ values) / (nights @ nights)
    line = values - slope * nights
    levels = [np.abs(side - np.median(side)).sum() for side in np.split(values, [bound])]
    more = len(values) ** (0.5 / len(values))
    return bool(np.abs(line - np.median(line)).sum() <= more * sum(levels))


def _step(values: Array, before: int, bound: int, after: int, inflation: float) -> LevelStep:
    start, end = max(before, bound - _SIDE), min(after, bound + _SIDE)
    left, right = values[start:bound], values[bound:end]
    places = max(len(values) // SHORTEST, 1)
    return LevelStep(bound, start, end, min(1.0, rank_test(left, right, inflation) * places))


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
