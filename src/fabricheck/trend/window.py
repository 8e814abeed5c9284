"""Tonight's alarm: do the last nights come from the nights before?

For each number w of recent nights the detector asks how much better the recent values are explained
by a level of their own than by the level of the history. Each value's cost is its squared distance
from the level in units of the noise, bounded by 9, so that an isolated outlier costs the same at
either level and cannot make an alarm. docs/explanation/detection.md has the formula,
its source, and its power.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from fabricheck.trend.robust import (
    Array,
    Counts,
    Flags,
    Rows,
    finest_spread,
    inflation,
    medians,
    persistence,
    spreads,
)
from fabricheck.trend.settings import Settings

RECENT = (3, 4, 5, 7)
"""Numbers of recent nights that are tried. Two nights cannot be told from two outliers."""

_BOUND = 9.0
_LOOKS = 2.2
"""How many independent tests the overlapping windows are worth; measured on noise."""

_WORSE_SHARE = 0.9
"""Share of the false alarms that may be regressions; the rest may be improvements."""

_LEVEL_VARIANCE = 1.1
"""Variance of the history's level in units of that of a mean of normal values."""

_CHANCE, _CHANCE_IF_WILD = 0.02, 0.0003
"""Largest probability with which the history itself gives so many nights beyond half the shift."""

_WILD_SHARE = 0.1
_WILD_BEYOND = 4.0
"""A series is wild if a tenth of its nights lie beyond four spreads: there, only counting holds."""

_ROWS = 512


@dataclass(frozen=True, slots=True)
class Alarms:
    """What the last nights say, one entry for each series.

    Attributes:
        score: gain of a level of their own, as a signed normal deviate; 0 where not judged.
        p: p-value, corrected for the windows tried; 1 where not judged.
        nights: number of recent nights that speak loudest.
        history: number of nights before them that they were compared with; 0 where not judged.
    """

    score: Array
    p: Array
    nights: Counts
    history: Counts

    def part(self, start: int) -> "Alarms":
        """A view of the entries of some rows."""
        rows = slice(start, start + _ROWS)
        return Alarms(self.score[rows], self.p[rows], self.nights[rows], self.history[rows])


def tonight(rows: Rows, settings: Settings) -> Alarms:
    """Compare the last nights of each row with the nights before."""
    count = len(rows.matrix)
    alarms = Alarms(np.zeros(count), np.ones(count), np.zeros(count, int), np.zeros(count, int))
    for start in range(0, count, _ROWS):
        for nights in RECENT:
            _look(rows.part(start, start + _ROWS), nights, settings, alarms.part(start))
    return alarms


def _look(rows: Rows, nights: int, settings: Settings, alarms: Alarms) -> None:
    """Look at one number of recent nights, and keep what is less probable than before."""
    history = rows.matrix[:, -nights - settings.history_nights : -nights]
    recent = rows.matrix[:, -nights:]
    if recent.shape[1] < nights:
        return
    count = np.sum(np.isfinite(history), axis=1)
    judged = (count >= settings.least_history) & np.isfinite(recent).all(axis=1)
    if not judged.any():
        return
    history, recent, count = history[judged], recent[judged], count[judged]
    level, scale = level_and_scale(history, rows.logarithmic[judged])
    scale = np.maximum(scale, 0.5 * spreads(recent - medians(recent)[:, None]))
    correlation = persistence(history - level[:, None], scale)
    gain, shift = gains((recent - level[:, None]) / scale[:, None])
    # Nights that follow each other are worth fewer that don't.
    worth = count * (1 - correlation) / (1 + correlation)
    variance = inflation(correlation, nights) + _LEVEL_VARIANCE * nights / worth
    score = np.sign(gain) * np.sqrt(np.abs(gain) / variance)
    share = _share(np.sign(score) * rows.worse[judged])
    p = np.minimum(1.0, _LOOKS * stats.t.sf(np.abs(score), worth) / share)
    chance = _chance(history, recent, level, shift * scale)
    distances = np.abs(history - level[:, None]) / scale[:, None]
    wild = np.sum(distances > _WILD_BEYOND, axis=1) > _WILD_SHARE * count
    p = np.where(chance <= np.where(wild, _CHANCE_IF_WILD, _CHANCE), p, 1.0)
    place = np.flatnonzero(judged)
    alarms.history[place] = np.maximum(alarms.history[place], count)
    better = p < alarms.p[place]
    place = place[better]
    alarms.p[place] = p[better]
    alarms.score[place] = score[better]
    alarms.nights[place] = nights


def _share(worsening: npt.NDArray[np.float64]) -> Array:
    return np.select([worsening > 0, worsening < 0], [_WORSE_SHARE, 1 - _WORSE_SHARE], 0.5)


def _chance(history: Array, recent: Array, level: Array, shift: Array) -> Array:
    """Probability that the history gives recent nights so many values beyond half the shift.

    A binomial tail, which knows nothing of normal values: it holds back series with two modes,
    whose recent nights happen to be in the rarer one.
    """
    side = np.sign(shift)[:, None]
    halfway = side * (level + shift / 2)[:, None]
    before = np.sum(history * side > halfway, axis=1)
    count = np.sum(np.isfinite(history), axis=1)
    beyond = np.sum(recent * side > halfway, axis=1)
    share = (before + 1) / (count + 1)
    return np.asarray(stats.binom.sf(beyond - 1, recent.shape[1], share))


def level_and_scale(history: Array, logarithmic: Flags) -> tuple[Array, Array]:
    """Level and noise of each history."""
    level = medians(history)
    residuals = history - level[:, None]
    scale = np.maximum(spreads(residuals), finest_spread(level, logarithmic=logarithmic))
    # The mean of what lies within 2.5 scales is steadier than the median.
    inside = np.abs(residuals) <= 2.5 * scale[:, None]
    level = level + np.sum(np.where(inside, residuals, 0.0), axis=1) / inside.sum(axis=1)
    return level, scale


def gains(recent: Array) -> tuple[Array, Array]:
    """Gain of a level of their own, signed as the shift is, and the shift.

    The best level is looked for among the means of all pairs of values.

    Args:
        recent: standardised values, one series in each row.
    """
    first, second = np.triu_indices(recent.shape[1])
    levels = (recent[:, first] + recent[:, second]) / 2
    without = np.minimum(recent**2, _BOUND).sum(axis=1)
    costs = np.minimum((recent[:, None, :] - levels[:, :, None]) ** 2, _BOUND).sum(axis=2)
    best = costs.argmin(axis=1)
    rows = np.arange(len(recent))
    shift = levels[rows, best]
    return np.sign(shift) * np.maximum(without - costs[rows, best], 0.0), shift
