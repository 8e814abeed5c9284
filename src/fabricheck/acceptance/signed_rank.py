"""The signed-rank test of Wilcoxon (1945), its estimate and its interval.

The differences of pairs are symmetric around the shift if both of a pair were measured alike, and
nothing more is asked of them: the test is exact for any noise. The estimate is Hodges and Lehmann's
(1963), the median of all means of two differences (Walsh averages); the interval lies between those
of them that the test would not refuse (Hollander, Wolfe and Chicken, *Nonparametric Statistical
Methods*, 2014, 3.1 to 3.3).
"""

import math
from functools import lru_cache

import numpy as np

from fabricheck.trend.robust import Array

_EXACT = 100
"""Up to so many pairs the exact distribution is taken, and the normal one above."""


def walsh(differences: Array) -> Array:
    """All means of two of the differences, each with itself too, in order."""
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2)


def p_greater(averages: Array, shift: float) -> float:
    """p-value that the true shift is not greater than this one.

    Averages that are equal to it speak against it, so that rounded values make the test cautious.
    """
    return _tail(int(np.sum(averages <= shift)), _pairs(averages))


def p_less(averages: Array, shift: float) -> float:
    """p-value that the true shift is not less than this one."""
    return _tail(int(np.sum(averages >= shift)), _pairs(averages))


def interval(averages: Array, error_rate: float) -> tuple[float, float] | None:
    """Interval that holds the true shift; each side fails at most at the error rate.

    ``None`` if there are too few pairs for any.
    """
    pairs = _pairs(averages)
    outside = -1
    while outside < len(averages) // 2 and _tail(outside + 1, pairs) <= error_rate:
        outside += 1
    if outside < 0:
        return None
    return float(averages[outside]), float(averages[-1 - outside])


def least_pairs(error_rate: float) -> int:
    """So many pairs must all point in one direction for a p-value of at most the error rate."""
    return math.ceil(-math.log2(error_rate))


def _pairs(averages: Array) -> int:
    return (math.isqrt(8 * len(averages) + 1) - 1) // 2


def _tail(statistic: int, pairs: int) -> float:
    """Probability of a sum of ranks of at most this."""
    if pairs == 0:
        return 1.0
    if pairs <= _EXACT:
        return float(_distribution(pairs)[statistic])
    mean, variance = pairs * (pairs + 1) / 4, pairs * (pairs + 1) * (2 * pairs + 1) / 24
    return math.erfc((mean - statistic - 0.5) / math.sqrt(2 * variance)) / 2


@lru_cache(maxsize=_EXACT)
def _distribution(pairs: int) -> Array:
    """Probability of at most each sum of ranks: every rank counts or not, as a coin falls."""
    probabilities = np.ones(1)
    for rank in range(1, pairs + 1):
        longer = np.zeros(len(probabilities) + rank)
        longer[: len(probabilities)] += probabilities / 2
        longer[rank:] += probabilities / 2
        probabilities = longer
    return np.cumsum(probabilities)
