"""Noisier: does a series scatter more lately than it did?

The test of Fligner and Killeen (1976, *Distribution-free two-sample tests for scale*): the ranks of
the distances from the median, lately and before, count as the half-normal deviates that they are
expected to be. Of thirteen such tests it errs least where noise isn't normal (Conover, Johnson and
Johnson 1981, *A comparative study of tests for homogeneity of variances*).
"""

import numpy as np
from scipy.special import ndtr, ndtri

from fabricheck.trend.robust import (
    Array,
    Counts,
    inflation,
    medians,
    persistence,
    spreads,
)
from fabricheck.trend.settings import Settings

RECENT = (10, 15, 20, 30)
"""Numbers of recent nights that are tried: a spread takes more nights to be seen than a level."""

_LEAST = 20
"""Fewest nights before them."""

_LOOKS = 1.2
"""What a p-value is multiplied by, for several windows that hold the same nights.

Measured on normal noise, as the factors of ``window``.
"""

_ASKED, _REACH = 0.01, 6.0
"""What is less probable is asked of the history's own roots too, cut at so many spreads: five
outliers in a history foretell how many the next weeks have."""

_FINEST = 1e-12


def noisier(matrix: Array, settings: Settings) -> tuple[Array, Counts, Array]:
    """Compare how far values lie from their median, lately and earlier.

    Returns:
        p-value of each row, 1 where not judged, corrected for the windows tried; the number of
        recent nights; the ratio of the spreads.
    """
    rows = len(matrix)
    p, length, ratio = np.ones(rows), np.zeros(rows, dtype=np.int64), np.ones(rows)
    for nights in RECENT:
        history = matrix[:, -nights - settings.history_nights : -nights]
        count = np.isfinite(history).sum(axis=1)
        judged = np.flatnonzero(count >= _LEAST)
        if len(judged):
            found, scales = _scatter(history[judged], matrix[judged, -nights:], count[judged])
            better = found < p[judged]
            place = judged[better]
            p[place], ratio[place], length[place] = found[better], scales[better], nights
    p = np.minimum(1.0, _LOOKS * p)
    for row in np.flatnonzero((p <= settings.alarm_p) & (ratio >= settings.noisier_ratio)):
        # A step within these nights moves values from their median, and is no scatter.
        recent = matrix[row, -length[row] :]
        left = np.sqrt(_without_step(recent)).mean()
        ratio[row] *= (left / np.sqrt(np.abs(recent - np.median(recent))).mean()) ** 2
    return p, length, ratio


def _without_step(values: Array) -> Array:
    """Distances from the medians of the two parts that explain the values best."""
    parts = (np.split(values, [bound]) for bound in range(1, len(values)))
    left = (np.abs(np.concatenate([part - np.median(part) for part in each])) for each in parts)
    return min(left, key=lambda each: float(each.sum()))


def _scatter(history: Array, recent: Array, count: Counts) -> tuple[Array, Array]:
    nights = recent.shape[1]
    old, new = (np.abs(each - medians(each)[:, None]) for each in (history, recent))
    whole = np.concatenate([old, new], axis=1)
    there, total = np.isfinite(whole), count + nights
    ranks = whole.argsort(axis=1).argsort(axis=1) + 1.0
    scores = np.where(there, ndtri((1 + ranks / (total[:, None] + 1)) / 2), np.nan)
    centred = scores - np.nanmean(scores, axis=1, keepdims=True)
    # Restless times last.
    before = centred[:, :-nights]
    before = before - np.nanmean(before, axis=1, keepdims=True)
    wave = inflation(persistence(before, np.maximum(spreads(before), _FINEST)), nights)
    square = np.nansum(centred**2, axis=1) / (total - 1)
    variance = square * (wave / nights - 1 / total)
    deviate = centred[:, -nights:].mean(axis=1) / np.sqrt(np.maximum(variance, _FINEST))
    roots = [np.nanmean(np.sqrt(each), axis=1) for each in (old, new)]
    ratio = (roots[1] / np.maximum(roots[0], _FINEST)) ** 2
    return ndtr(-deviate), ratio
