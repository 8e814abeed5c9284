"""Robust statistics of many series at once, and p-values.

The rank test is that of Mann and Whitney (1947). A matrix holds one series in each row, oldest
value first. Rows of different lengths are aligned at their last value; what is missing on the left
is NaN.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""

_INSIDE = 4.0
_INSIDE_DEVIATION = 0.9995
"""Standard deviation of a normal distribution cut off at 4 of its standard deviations."""

_FINEST = 1e-3
"""Spread, relative to the level, below which a series counts as free of noise."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Series as the detectors see them.

    Attributes:
        matrix: the values, aligned at the last night.
        logarithmic: rows that hold logarithms, so that differences are ratios.
        worse: sign of a change for the worse in each row, 0 where nobody knows it.
        ages: how many nights before the last value of its row each of the last ones was measured;
            empty where each night has a value.
    """

    matrix: Array
    logarithmic: Flags
    worse: npt.NDArray[np.int8]
    ages: Array = field(default_factory=lambda: np.empty((0, 0)))

    def part(self, start: int, end: int) -> "Rows":
        """Some of the rows."""
        part = slice(start, end)
        return Rows(self.matrix[part], self.logarithmic[part], self.worse[part], self.ages[part])


def align(rows: list[Array]) -> Array:
    """The rows as one matrix."""
    matrix = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
    for number, row in enumerate(rows):
        matrix[number, matrix.shape[1] - len(row) :] = row
    return matrix


def medians(matrix: Array) -> Array:
    """Median of each row, NaN for a row without values."""
    if matrix.shape[1] == 0:
        return np.full(len(matrix), np.nan)
    ordered = np.sort(matrix, axis=1)
    count = np.sum(np.isfinite(matrix), axis=1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=1)
    high = np.take_along_axis(ordered, np.minimum(count // 2, matrix.shape[1] - 1), axis=1)
    return np.where(count > 0, (low + high) / 2, np.nan)[:, 0]


def spreads(residuals: Array) -> Array:
    """Scale of each row around zero, in units of the standard deviation.

    The median absolute deviation gives a first scale. The values within 4 of it give the final
    one: it resists outliers as the first does, they don't enlarge it, and it varies half as much.
    """
    first = NORMAL_MAD * medians(np.abs(residuals))
    inside = np.abs(residuals) <= _INSIDE * first[:, None]
    squares = np.sum(np.where(inside, residuals, 0.0) ** 2, axis=1)
    count = np.maximum(inside.sum(axis=1), 1)
    scale: Array = np.sqrt(squares / count) / _INSIDE_DEVIATION
    return scale


def finest_spread(level: Array, *, logarithmic: Flags) -> Array:
    """The spread that a series is granted at least, so that one without noise can be judged."""
    return np.where(logarithmic, _FINEST, np.maximum(_FINEST * np.abs(level), 1e-12))


def persistence(residuals: Array, scale: Array) -> Array:
    """Correlation from one night to the next, of each series shrunk to that of all, never below 0.

    Each estimate is corrected for its bias (Kendall 1954, *Note on bias in the estimation of
    autocorrelation*). It counts by how much more than their errors the estimates differ, and the
    mean of all by how much it differs from 0 (James and Stein 1961, *Estimation with quadratic
    loss*): sixty nights of one series hardly tell its memory. Residuals are bounded at 2.5 scales,
    so that an outlier speaks like any other high value.
    """
    bounded = np.clip(residuals / scale[:, None], -2.5, 2.5)
    pairs = np.nansum(bounded[:, 1:] * bounded[:, :-1], axis=1)
    squares = np.nansum(bounded**2, axis=1)
    count = np.maximum(np.sum(np.isfinite(bounded), axis=1), 1)
    own = np.divide(pairs, squares, out=np.zeros_like(pairs), where=squares > 0)
    own = np.clip(own + (1 + 3 * own) / count, -1.0, 1.0)
    mean = float(np.average(own, weights=count))
    error = (1 - min(mean**2, 0.9)) / count
    differ = max(0.0, float(np.var(own) - error.mean()))
    doubt = 1 / float(np.sum(1 / error))
    shared = mean * max(0.0, 1 - doubt / max(mean**2, 1e-12))
    correlation: Array = np.clip(shared + (own - mean) * differ / (differ + error), 0.0, 0.95)
    return correlation


def inflation(correlation: Array, nights: int) -> Array:
    """Variance of a mean over nights, over what it were without correlation: AR(1)."""
    lags = np.arange(1, nights)
    weights = 1 - lags / nights
    powers = correlation[:, None] ** lags
    return np.asarray(1 + 2 * powers @ weights)


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
        return math.erfc(-NormalDist().inv_cdf(exact) / math.sqrt(2 * inflation))
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
    counts = [1]
    for part in range(1, short + 1):
        # Times 1 - q^(long + part), over 1 - q^part; in integers, as float64 cancels beyond 2^53.
        raised = counts + [0] * (long + part)
        for place, count in enumerate(counts, long + part):
            raised[place] -= count
        for place in range(part, len(raised)):
            raised[place] += raised[place - part]
        counts = raised[: long * part + 1]
    at_most = list(accumulate(counts))
    tail: Array = np.array([count / at_most[-1] for count in reversed(at_most)])
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
