"""How probable is a sum of values, if they are drawn from a history? By the saddlepoint.

The formula is that of Lugannani and Rice (1980, *Saddle point approximation for the distribution of
the sum of independent random variables*). It knows nothing of normal values: the history's own
values give the cumulant generating function, so two modes and heavy tails count as they are.
"""

import numpy as np
from scipy import stats

from fabricheck.trend.robust import Array

_UNSEEN = 0.05
"""Weight, in nights, of a value that was never seen, at either end of what is possible."""

_STEPS = 10
_CENTRE = 0.1
"""Below so many deviates from the middle the formula is a difference of large terms."""


def tail(values: Array, sums: Array, draws: int, extra: Array, bound: float) -> Array:
    """Probability that so many draws from each row have at least the given sum.

    Args:
        values: bounded values of each history, NaN where there is none.
        sums: a sum for each row, of distances from the mean of its values; 0 or more.
        draws: how many values were summed.
        extra: variance of a normal value that is added to each sum.
        bound: largest value that is possible; the smallest is its opposite.

    Returns:
        the probabilities; 0.5 for sums so near to the middle that nobody asks.
    """
    ends = np.full((len(values), 1), bound)
    weights = np.isfinite(values).astype(float)
    found = np.concatenate([np.where(weights > 0, values, 0.0), ends, -ends], axis=1)
    weights = np.concatenate([weights, np.full((len(values), 2), _UNSEEN)], axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    found -= (weights * found).sum(axis=1, keepdims=True)
    theta = sums / (draws * (weights * found**2).sum(axis=1) + extra)
    for step in range(_STEPS + 1):
        tilted = weights * np.exp(theta[:, None] * found)
        total = tilted.sum(axis=1)
        first = (tilted * found).sum(axis=1) / total
        second = (tilted * found**2).sum(axis=1) / total - first**2
        curvature = draws * np.maximum(second, 1e-9) + extra
        if step < _STEPS:
            newton = (sums - draws * first - extra * theta) / curvature
            theta = theta + np.clip(newton, -0.8, 0.8)
    generating = draws * np.log(total) + extra * theta**2 / 2
    deviate = np.sqrt(np.maximum(2 * (theta * sums - generating), _CENTRE**2))
    correction = 1 / np.maximum(theta * np.sqrt(curvature), _CENTRE) - 1 / deviate
    found = stats.norm.sf(deviate) + stats.norm.pdf(deviate) * correction
    return np.where(deviate > _CENTRE, np.clip(found, 1e-300, 0.5), 0.5)
