"""The rank test of Mann and Whitney (1947), its estimate and its interval; and the t test.

Runs that take turns are exchangeable if the change did nothing, and nothing more is asked of them:
the rank test is exact for any noise. Of six runs on each side the least p-value is 1/924. The
estimate is Hodges and Lehmann's (1963), the median of all differences between the two sides; the
interval lies between those of them that the test would not refuse (Hollander, Wolfe and Chicken,
*Nonparametric Statistical Methods*, 2014, 4.1 to 4.3).
"""

import math

import numpy as np
from scipy import special

from fabricheck.trend.robust import Array, at_least

_EXACT = 25
"""Up to so many runs on a side the exact distribution is taken, and the normal one above."""

_FEW = 6
"""Below so many pairs a drift can't be told from noise."""


def without_drift(before: Array, after: Array) -> tuple[Array, Array]:
    """Both sides less a linear drift over the pairs: Theil (1950) and Sen (1968).

    The mean of a pair is moved by the drift and not by the order within the pair. Both of a pair
    are moved alike, so the difference between the sides stays.
    """
    pairs = len(before)
    if pairs < _FEW:
        return before, after
    means = (before + after) / 2
    first, second = np.triu_indices(pairs, 1)
    slope = float(np.median((means[second] - means[first]) / (second - first)))
    drift = slope * (np.arange(pairs) - (pairs - 1) / 2)
    return before - drift, after - drift


def differences(before: Array, after: Array) -> Array:
    """All differences of a run after and a run before, in order. The sides have equal numbers."""
    return np.sort((after[:, None] - before[None, :]).ravel())


def p_greater(found: Array, shift: float) -> float:
    """p-value that the true shift is not greater than this one.

    Differences that are equal to it speak against it, so that rounded values make the test
    cautious.
    """
    return _tail(int(np.sum(found <= shift)), math.isqrt(len(found)))


def p_less(found: Array, shift: float) -> float:
    """p-value that the true shift is not less than this one."""
    return _tail(int(np.sum(found >= shift)), math.isqrt(len(found)))


def interval(found: Array, error_rate: float) -> tuple[float, float] | None:
    """Interval that holds the true shift; each side fails at most at the error rate.

    ``None`` if there are too few runs for any.
    """
    runs = math.isqrt(len(found))
    outside = -1
    while outside < len(found) // 2 and _tail(outside + 1, runs) <= error_rate:
        outside += 1
    if outside < 0:
        return None
    return float(found[outside]), float(found[-1 - outside])


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
