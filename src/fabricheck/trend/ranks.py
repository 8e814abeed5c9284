"""p-values: the rank test of Mann and Whitney (1947), and those of many series adjusted."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from fabricheck.trend.robust import Array

_EXACT = 10
"""Below so many values on a side, the exact distribution is taken."""


def rank_test(first: Array, second: Array, inflation: float = 1.0) -> float:
    """Two-sided p-value that two samples come from one distribution.

    Exact where a side is short, from normal values with correction for ties and continuity else.
    scipy's function of the same purpose takes a hundred times as long for one pair of samples.

    Args:
        first: one sample.
        second: the other.
        inflation: variance of the statistic over what it were if values did not remember the last.
    """
    differences = second[:, None] - first[None, :]
    above = float(np.sum(differences > 0) + np.sum(differences == 0) / 2)
    pairs = differences.size
    distance = abs(above - pairs / 2)
    if min(len(first), len(second)) < _EXACT:
        tail = at_least(*sorted((len(first), len(second))))
        exact = min(0.5, float(tail[math.ceil(pairs / 2 + distance)]))
        return 2 * float(ndtr(ndtri(exact) / math.sqrt(inflation)))
    total = len(first) + len(second)
    _, ties = np.unique(np.concatenate([first, second]), return_counts=True)
    tied = float(np.sum(ties.astype(float) ** 3 - ties)) / (total * (total - 1))
    variance = inflation * pairs / 12 * (total + 1 - tied)
    if variance <= 0:
        return 1.0
    return math.erfc(max(distance - 0.5, 0.0) / math.sqrt(2 * variance))


@lru_cache(maxsize=4096)
def at_least(short: int, long: int) -> Array:
    """Probability of at least so many pairs in order, for each number of pairs.

    The numbers of arrangements are the coefficients of a Gaussian binomial.
    """
    counts = np.ones(1)
    for part in range(1, short + 1):
        numerator = np.zeros(long + part + 1)
        numerator[0], numerator[-1] = 1.0, -1.0
        counts = np.convolve(counts, numerator)
        # Division by 1 - q^part.
        for place in range(part, len(counts)):
            counts[place] += counts[place - part]
        counts = counts[: long * part + 1]
    tail: Array = np.cumsum(counts[::-1])[::-1] / counts.sum()
    return tail


_DETECTORS = 3
"""Detectors with p-values. Each has its share of the false alarms, as an operator sees them all."""


def adjusted(p: npt.ArrayLike) -> Array:
    """The p-values of all series by one detector, adjusted for their number and the detectors'.

    Benjamini and Hochberg (1995, *Controlling the false discovery rate*) for the series, Bonferroni
    for the detectors.
    """
    given = np.asarray(p, dtype=float)
    falling = np.argsort(given)[::-1]
    share = given[falling] * len(given) / np.arange(len(given), 0, -1)
    q = np.empty_like(given)
    q[falling] = np.minimum.accumulate(share)
    return np.asarray(np.minimum(1.0, _DETECTORS * q))
