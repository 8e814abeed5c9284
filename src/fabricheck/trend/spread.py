"""Noisier: the level is the same, but the values scatter more than they did.

The scatter is that from one night to the next, which a step or a drift of the level enlarges once,
or hardly.
"""

import numpy as np
from scipy.special import ndtr

from fabricheck.trend.robust import (
    NORMAL_MAD,
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
_SHARED = 0.2
"""Correlation of neighbouring distances of values that know nothing of each other."""

_ROWS = 512


def noisier(matrix: Array, settings: Settings) -> tuple[Array, Counts, Array]:
    """Compare how far values lie from those of the night before, lately and earlier.

    A rank test of these distances (Mann and Whitney) asks whether the recent ones are larger.

    Returns:
        p-value of each row, 1 where not judged, corrected for the windows tried; the number of
        recent nights; the ratio of the spreads.
    """
    rows = len(matrix)
    p, length, ratio = np.ones(rows), np.zeros(rows, dtype=np.int64), np.ones(rows)
    for start in range(0, rows, _ROWS):
        part = slice(start, start + _ROWS)
        for nights in RECENT:
            if matrix.shape[1] >= nights + _LEAST:
                found, scales = _compare(matrix[part], nights, settings.history_nights)
                place = start + np.flatnonzero(found < p[part])
                p[place], ratio[place] = found[place - start], scales[place - start]
                length[place] = nights
    return np.minimum(1.0, len(RECENT) * p), length, ratio


def _compare(matrix: Array, nights: int, most: int) -> tuple[Array, Array]:
    recent, history = matrix[:, -nights:], matrix[:, -nights - most : -nights]
    new, old = np.abs(np.diff(recent)), np.abs(np.diff(history))
    count = np.sum(np.isfinite(old), axis=1)
    judged = (count >= _LEAST) & np.isfinite(new).all(axis=1)
    if not judged.any():
        return np.ones(len(matrix)), np.ones(len(matrix))
    with np.errstate(invalid="ignore", divide="ignore"):
        above = (new[:, :, None] > old[:, None, :]).sum(axis=(1, 2))
        above = above + (new[:, :, None] == old[:, None, :]).sum(axis=(1, 2)) / 2
        pairs = new.shape[1] * count
        deviate = (above - pairs / 2) / np.sqrt(pairs * (new.shape[1] + count + 1) / 12)
        # Not the medians: a second mode visited in a third of the nights moves only the upper half.
        ratio = _upper(new) / _upper(old)
        # Two distances that follow each other share a night, and restless times last.
        centred = old - medians(old)[:, None]
        correlation = persistence(centred, np.maximum(spreads(centred), 1e-12))
        correlation = np.maximum(correlation, _SHARED)
        deviate = deviate / np.sqrt(inflation(correlation, new.shape[1]))
    p = np.where(judged, ndtr(-deviate), 1.0)
    return p, np.where(judged & np.isfinite(ratio), ratio, 1.0)


def _upper(distances: Array) -> Array:
    """Mean of the distances, each bounded at six times their median: a scale."""
    bound = 6 * NORMAL_MAD * medians(distances)
    total: Array = np.nansum(np.minimum(distances, bound[:, None]), axis=1)
    scale: Array = total / np.maximum(np.sum(np.isfinite(distances), axis=1), 1)
    return scale
