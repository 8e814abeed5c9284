"""The rank test of Mann and Whitney (1947), the t test, and the estimate with its interval.

Runs that take turns are exchangeable if the change did nothing, and nothing more is asked of them:
the rank test is exact for any noise. Of six runs on each side the least p-value is 1/924.

The estimate is that of greatest likelihood in noise of Student's distribution, whose tails give
wild runs little weight (Lange, Little and Taylor 1989). Twelve runs know their own scatter badly,
and what they get wrong leaves one of two hundred series open. So series of a kind share it as far
as they are alike: the moderated t statistic of Smyth (2004).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from fabricheck.trend.robust import Array, at_least

_EXACT = 25
"""Up to so many runs on a side the exact distribution is taken, and the normal one above."""

_FEW = 6
"""Below so many pairs a drift can't be told from noise."""

_DRIFTS = 0.9
"""A drift takes away more of the standard deviation than this leaves; less is noise."""

_TAILS = 3.0
"""Degrees of freedom of the noise: recorded noise has heavier tails than the four that Lange,
Little and Taylor propose."""

_STEPS = 30

_FREE_OF_NOISE = 1e-6
"""Least variance of logarithms: what scatters less is rounded."""

_MANY = 20
"""So many series of a kind share their scatter; few don't show how unlike they are."""


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the runs after differ from those before.

    Attributes:
        estimate: the shift of greatest likelihood.
        error: its standard error.
        freedom: degrees of freedom of Student's t that the error has.
    """

    estimate: float
    error: float
    freedom: float

    def p_less(self, shift: float) -> float:
        """p-value that the true shift is not less than this one."""
        return float(special.stdtr(self.freedom, (self.estimate - shift) / self.error))

    def interval(self, error_rate: float) -> tuple[float, float]:
        """Interval that holds the true shift; each side fails at most at the error rate."""
        reach = float(special.stdtrit(self.freedom, 1 - error_rate)) * self.error
        return self.estimate - reach, self.estimate + reach


def shifts(sides: Sequence[tuple[Array, Array]]) -> list[Shift]:
    """The shift of each of several series of a kind.

    What they share of their scatter is estimated from how much it varies from one to the other,
    beyond chance (Smyth 2004, section 6.2). It never counts more than a series' own runs.

    Args:
        sides: the runs before and after of each series, equally many, at least two.
    """
    runs = np.array([len(before) for before, _ in sides])
    matrix = np.full((len(sides), 2, max(runs, default=0)), np.nan)
    for row, pair, number in zip(matrix, sides, runs, strict=True):
        row[:, :number] = pair
    own = (2 * runs - 2) * _TAILS / (_TAILS + 3)
    estimates, squares = _fitted(matrix, 0.0, 0.0)
    strength: Array | float = 0.0
    if len(sides) >= _MANY:
        shared, like = _shared(squares * runs / (runs - 1), own)
        strength = np.minimum(2 * runs - 2, shared)
        estimates, squares = _fitted(matrix, strength, like)
    squares = squares * (2 * runs + strength) / (2 * runs - 2 + strength)
    errors = np.sqrt(2 * squares / runs * (_TAILS + 3) / (_TAILS + 1))
    return [
        Shift(*map(float, each)) for each in zip(estimates, errors, own + strength, strict=True)
    ]


def _fitted(matrix: Array, strength: Array | float, like: float) -> tuple[Array, Array]:
    """Shifts and squared scales of greatest likelihood, by expectation and maximisation.

    Args:
        matrix: by series, side and run; NaN where there is none.
        strength: how many values the scale that is shared counts for.
        like: its square.
    """
    there = ~np.isnan(matrix)
    values, number = np.where(there, matrix, 0.0), there.sum((1, 2))
    levels = np.nanmedian(matrix, 2, keepdims=True) if matrix.size else matrix[:, :, :1]
    squares = np.full(len(matrix), np.inf)
    for _ in range(_STEPS):
        distances = np.where(there, (values - levels) ** 2, 0.0)
        weights = there * (_TAILS + 1) / (_TAILS + distances / squares[:, None, None])
        levels = (weights * values).sum(2, keepdims=True) / weights.sum(2, keepdims=True)
        left = (weights * np.where(there, (values - levels) ** 2, 0.0)).sum((1, 2))
        squares = np.maximum((left + strength * like) / (number + strength), _FREE_OF_NOISE)
    return levels[:, 1, 0] - levels[:, 0, 0], squares


def _shared(squares: Array, freedom: Array) -> tuple[float, float]:
    """For how many degrees of freedom the scatter of like series counts, and its square."""
    logs = np.log(squares) - special.digamma(freedom / 2) + np.log(freedom / 2)
    beyond = float(np.var(logs, ddof=1) - special.polygamma(1, freedom / 2).mean())
    if beyond <= 0:
        return np.inf, math.exp(logs.mean())
    half = 0.5 + 1 / beyond
    for _ in range(_STEPS):
        is_now = special.polygamma(1, half)
        half += is_now * (1 - is_now / beyond) / special.polygamma(2, half)
    return 2 * half, math.exp(logs.mean() + special.digamma(half) - math.log(half))


def without_drift(before: Array, after: Array) -> tuple[Array, Array]:
    """Both sides less a linear drift over the pairs: Theil (1950) and Sen (1968).

    The mean of a pair is moved by the drift and not by the order within the pair. Both of a pair
    are moved alike, so the difference between the sides stays. A slope that explains little of the
    scatter is noise itself, and stays.
    """
    pairs = len(before)
    if pairs < _FEW:
        return before, after
    means = (before + after) / 2
    first, second = np.triu_indices(pairs, 1)
    slope = float(np.median((means[second] - means[first]) / (second - first)))
    drift = slope * (np.arange(pairs) - (pairs - 1) / 2)
    flat = before - drift, after - drift
    return flat if deviation(*flat) < _DRIFTS * deviation(before, after) else (before, after)


def differences(before: Array, after: Array) -> Array:
    """All differences of a run after and a run before, in order. The sides have equal numbers."""
    return np.sort((after[:, None] - before[None, :]).ravel())


def p_greater(found: Array, shift: float) -> float:
    """p-value that the true shift is not greater than this one.

    Differences that are equal to it speak against it, so that rounded values make the test
    cautious.
    """
    return _tail(int(np.sum(found <= shift)), math.isqrt(len(found)))


def least_pairs(error_rate: float) -> int:
    """So many runs on each side, all apart, for a p-value of at most the error rate."""
    pairs = 1
    while math.comb(2 * pairs, pairs) * error_rate < 1:
        pairs += 1
    return pairs


def t_greater(before: Array, after: Array, shift: float, spread: float) -> float:
    """p-value of Student's t test that the true shift is not greater than this one.

    Args:
        before: the runs before, at least two.
        after: as many runs after.
        shift: the shift.
        spread: standard deviation from run to run that is granted at least.
    """
    pairs = len(before)
    spread = max(spread, deviation(before, after))
    distance = float(after.mean() - before.mean()) - shift
    return float(special.stdtr(2 * pairs - 2, -distance / (spread * math.sqrt(2 / pairs))))


def deviation(before: Array, after: Array) -> float:
    """Standard deviation from run to run within the sides."""
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in (before, after))
    return math.sqrt(squares / (2 * len(before) - 2))


def _tail(statistic: int, runs: int) -> float:
    """Probability of at most so many pairs in the wrong order."""
    if runs == 0:
        return 1.0
    if runs <= _EXACT:
        return float(at_least(runs, runs)[runs * runs - statistic])
    mean, variance = runs * runs / 2, runs * runs * (2 * runs + 1) / 12
    return math.erfc((mean - statistic - 0.5) / math.sqrt(2 * variance)) / 2
