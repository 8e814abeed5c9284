"""Tonight's alarms: do the last nights come from the nights before?

For each number w of recent nights two questions are asked: how much better the recent values are
explained by a level of their own than by the level of the history, if noise is normal but for
outliers; and how probable their sum is, if they are drawn from the history itself. A geometric mean
of both answers counts. docs/explanation/detection.md has the formulas, their sources, and the
power.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

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

_UNSEEN = 0.05
"""Weight, in nights, of a value that was never seen, at either end of what is possible."""

_STEPS = 10
_CENTRE = 0.1
"""Below so many deviates from the middle the formula is a difference of large terms."""


def tail(values: Array, sums: Array, draws: int, extra: Array, bound: float) -> Array:
    """Probability that so many draws from each row have at least the given sum: the saddlepoint.

    The formula is that of Lugannani and Rice (1980, *Saddle point approximation for the
    distribution of the sum of independent random variables*). It knows nothing of normal values:
    the history's own values give the cumulant generating function, so two modes and heavy tails
    count as they are.

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
    density = np.exp(-(deviate**2) / 2) / np.sqrt(2 * np.pi)
    found = ndtr(-deviate) + density * correction
    return np.where(deviate > _CENTRE, np.clip(found, 1e-300, 0.5), 0.5)


@dataclass(frozen=True, slots=True)
class Looks:
    """How the last nights are asked.

    Attributes:
        factors: by number of nights, what its p-value is multiplied by, for several windows; three
            nights need more evidence than five. Measured on normal noise, so that one in a thousand
            series is raised in a night.
        freedom: degrees of freedom of Student's distribution that the noise is taken for.
        loss: largest loss of one value.
        trusted: limits of the weight of what the history says of itself.
    """

    factors: Mapping[int, float]
    freedom: float
    loss: float
    trusted: tuple[float, float]


SINGLE = Looks({3: 6.0, 4: 2.3, 5: 1.35, 7: 6.0}, freedom=6.0, loss=10.0, trusted=(0.25, 0.8))
"""Of one series: two nights cannot be told from two outliers."""

POOLED = Looks(
    {1: 5.0, 2: 5.0, 3: 5.0, 4: 2.2, 5: 2.0, 7: 5.0}, freedom=60.0, loss=100.0, trusted=(0.5, 0.5)
)
"""Of many series as one: a single night can tell, since what spoils a value spoils one of them."""

RECENT = tuple(SINGLE.factors)
"""Numbers of recent nights that are tried."""

_WORSE_SHARE = 0.9
"""Share of the false alarms that may be regressions; the rest may be improvements."""

_LEVEL_VARIANCE = 1.1
"""Variance of the history's level in units of that of a mean of normal values."""

_REACH = 3.0
"""Values farther from the level count as this many spreads, where the history itself is asked."""

_MANY = 1 / 8
"""Share of a history beyond that reach from which on it knows its tails."""

_FLAT = 2.4
"""Kurtosis, between that of values in two modes or evenly spread, up to 1.8, and the normal 3."""

_ASKED = 1.5
"""Deviates below which it is not asked."""

_NORMALLY, _SEEN = 5, 0.95
"""Nights within which a change should be seen, and how surely."""

_HOPELESS = 20.0
"""Deviates; a history that asks for more says nothing of its series."""

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


def tonight(rows: Rows, settings: Settings, looks: Looks = SINGLE) -> Alarms:
    """Compare the last nights of each row with the nights before."""
    count = len(rows.matrix)
    alarms = Alarms(np.zeros(count), np.ones(count), np.zeros(count, int), np.zeros(count, int))
    for start in range(0, count, _ROWS):
        for nights in looks.factors:
            _look(rows.part(start, start + _ROWS), nights, settings, alarms.part(start), looks)
    return alarms


def visible(rows: Rows, settings: Settings) -> Array:
    """The smallest change for the worse that five nights would show, with 95 % probability.

    In the units of the rows; NaN where the history is too short or knows too little. Each series is
    taken for itself, its noise for normal around the level of the nights before the last five.
    """
    history = rows.matrix[:, :-_NORMALLY][:, -settings.history_nights :]
    count = np.sum(np.isfinite(history), axis=1)
    found = np.full(len(history), np.nan)
    judged = np.flatnonzero(count >= settings.least_history)
    if not len(judged):
        return found
    history, count = history[judged], count[judged]
    level, scale = level_and_scale(history, rows.logarithmic[judged])
    correlation = persistence(history - level[:, None], scale)
    worth, freedom = _worth(count, correlation)
    share, doubt = _shown(correlation, worth, _NORMALLY)
    asked = -stdtrit(freedom, settings.alarm_p * _WORSE_SHARE / SINGLE.factors[_NORMALLY])
    needed = (asked + ndtri(_SEEN)) * np.sqrt((1 + doubt) / (share**2).sum(axis=1)) * scale
    # A few nights that all remember each other can show nothing.
    found[judged] = np.where(
        asked < _HOPELESS, np.maximum(needed, settings.smallest_change), np.nan
    )
    return found


def _look(rows: Rows, nights: int, settings: Settings, alarms: Alarms, looks: Looks) -> None:
    """Look at one number of recent nights, and keep what is less probable than before."""
    history = rows.matrix[:, -nights - settings.history_nights : -nights]
    recent = rows.matrix[:, -nights:]
    if recent.shape[1] < nights:
        return
    count = np.sum(np.isfinite(history), axis=1)
    judged = (count >= settings.least_history) & np.isfinite(recent).all(axis=1)
    if not judged.any():
        return
    factor = np.broadcast_to(_factor(rows.ages, nights, looks), len(judged))[judged]
    history, recent, count = history[judged], recent[judged], count[judged]
    level, scale = level_and_scale(history, rows.logarithmic[judged])
    quiet = scale
    scale = np.maximum(scale, 0.5 * spreads(recent - medians(recent)[:, None]))
    correlation = persistence(history - level[:, None], scale)
    worth, freedom = _worth(count, correlation)
    # Share of a night that those before don't foretell.
    new = 1 - correlation**2
    known = np.column_stack([history[:, -1], recent]) - level[:, None]
    share, doubt = _shown(correlation, worth, nights)
    gain = gains(_news(known / scale[:, None], correlation), share, looks)
    score = np.sign(gain) * np.sqrt(np.abs(gain) / (1 + doubt))
    p = stdtr(freedom, -np.abs(score))
    asked = np.flatnonzero(np.abs(score) > _ASKED)
    before, lately = (
        (each[asked] - level[asked, None]) / quiet[asked, None] for each in (history, recent)
    )
    wave = inflation(correlation[asked], nights)
    drawn = _drawn(before, lately, wave, worth[asked])
    flatness = _flatness((history - level[:, None]) / quiet[:, None])
    weight = _trust(before, looks, flat=flatness < _FLAT) * new[asked]
    # The error of a spread is the smaller, the flatter the noise.
    sure = 2 / (flatness - 1) if flatness < _FLAT else 1.0
    drawn = stdtr(sure * freedom[asked], ndtri(drawn))
    p[asked] = p[asked] ** (1 - weight) * drawn**weight
    tried = factor**new
    p = np.minimum(1.0, tried * p / _share(np.sign(score) * rows.worse[judged]))
    place = np.flatnonzero(judged)
    alarms.history[place] = np.maximum(alarms.history[place], count)
    better = p < alarms.p[place]
    place = place[better]
    alarms.p[place] = p[better]
    alarms.score[place] = score[better]
    alarms.nights[place] = nights


def _factor(ages: Array, nights: int, looks: Looks) -> Array:
    """What the p-value of each row's last values is multiplied by.

    Three values that are all that five nights have are asked as five nights are; and who has no
    value in every fifth night is asked in so many nights fewer.
    """
    if not ages.size:
        return np.full(1, looks.factors[nights])
    factor = np.full(len(ages), looks.factors[nights])
    for window, its in looks.factors.items():
        if window > nights:
            held = (ages < window).sum(axis=1)
            factor = np.where(held == nights, np.minimum(factor, its), factor)
    asked = np.fmin(1.0, ages.shape[1] / (1 + ages[:, 0]))
    return np.asarray(np.maximum(1.0, factor * asked))


def _news(deviates: Array, correlation: Array) -> Array:
    """What each night adds to what the one before let expect, in spreads of that: AR(1).

    The night before is bounded, so that an outlier spoils no other night.
    """
    expected = correlation[:, None] * np.clip(deviates[:, :-1], -_REACH, _REACH)
    return np.asarray((deviates[:, 1:] - expected) / np.sqrt(1 - correlation**2)[:, None])


def _shown(correlation: Array, worth: Array, nights: int) -> tuple[Array, Array]:
    """How much of a step each night's news shows; and the variance that the level's error adds.

    Of a step the first night shows all, and those after it what the one before lets not expect. So
    do all nights of an error of the level.
    """
    left = np.sqrt(1 - correlation**2)
    fades = (1 - correlation) / left
    share = np.repeat(fades[:, None], nights, axis=1)
    share[:, 0] = 1 / left
    wrong = (share.sum(axis=1) * fades) ** 2 / (share**2).sum(axis=1)
    return share, _LEVEL_VARIANCE * wrong / worth


def _flatness(history: Array) -> float:
    """Kurtosis of the bounded values of all histories together, and two of its errors.

    The error is that of normal values (Fisher 1930); a few short histories tell nothing.
    """
    square = np.clip(history[np.isfinite(history)], -_REACH, _REACH) ** 2
    if not square.any():
        return np.inf
    return float((square**2).mean() / square.mean() ** 2 + 2 * np.sqrt(24 / len(square)))


def _worth(count: Counts, correlation: Array) -> tuple[Array, Array]:
    """How many nights without memory nights are worth: for a mean, and for a spread."""
    square = correlation**2
    return count * (1 - correlation) / (1 + correlation), count * (1 - square) / (1 + square)


def _share(worsening: npt.NDArray[np.float64]) -> Array:
    return np.select([worsening > 0, worsening < 0], [_WORSE_SHARE, 1 - _WORSE_SHARE], 0.5)


def _trust(history: Array, looks: Looks, *, flat: bool) -> Array:
    """The weight of what each history says of itself.

    Half where no value lies beyond its reach, most if the noise of all is flat; most also where
    many do; least where few do, since sixty nights don't tell how many more there will be.
    """
    there = np.isfinite(history).sum(axis=1)
    beyond = np.sum(np.abs(history) > _REACH, axis=1)
    weight = np.select([beyond > _MANY * there, beyond > 0], [1.0, 0.0], 1.0 if flat else 0.5)
    return np.asarray(np.clip(weight, *looks.trusted))


def _drawn(history: Array, recent: Array, wave: Array, worth: Array) -> Array:
    """Probability that the recent nights lie so far off if they are drawn from the history.

    Args:
        history: distances from the level, in spreads.
        recent: those of the recent nights.
        wave: variance of a mean of the recent nights, over what it were without memory.
        worth: number of nights without memory that the history is worth.
    """
    nights = recent.shape[1]
    before, lately = (np.clip(each, -_REACH, _REACH) for each in (history, recent))
    total = (lately - np.nanmean(before, axis=1, keepdims=True)).sum(axis=1)
    sign = np.where(total < 0, -1.0, 1.0)
    level = _LEVEL_VARIANCE * nights**2 / (worth * wave) * np.nanvar(before, axis=1)
    return tail(before * sign[:, None], np.abs(total) / np.sqrt(wave), nights, level, _REACH)


def level_and_scale(history: Array, logarithmic: Flags) -> tuple[Array, Array]:
    """Level and noise of each history."""
    level = medians(history)
    residuals = history - level[:, None]
    scale = np.maximum(spreads(residuals), finest_spread(level, logarithmic=logarithmic))
    # The mean of what lies within 2.5 scales is steadier than the median.
    inside = np.abs(residuals) <= 2.5 * scale[:, None]
    level = level + np.sum(np.where(inside, residuals, 0.0), axis=1) / inside.sum(axis=1)
    return level, scale


def gains(recent: Array, share: Array, looks: Looks = SINGLE) -> Array:
    """Gain of a level of their own, signed as the shift is.

    The best level is looked for among those that fit two of the values.

    Args:
        recent: standardised values, one series in each row.
        share: how much of the shift each of them shows.
        looks: what the noise is taken for.
    """
    first, second = np.triu_indices(recent.shape[1])
    shown, square = recent * share, share**2
    levels = (shown[:, first] + shown[:, second]) / (square[:, first] + square[:, second])
    without = _loss(recent, looks).sum(axis=1)
    left = recent[:, None, :] - levels[:, :, None] * share[:, None, :]
    costs = _loss(left, looks).sum(axis=2)
    best = costs.argmin(axis=1)
    rows = np.arange(len(recent))
    shift = levels[rows, best]
    return np.asarray(np.sign(shift) * np.maximum(without - costs[rows, best], 0.0))


def _loss(deviates: Array, looks: Looks) -> Array:
    """Twice the loss of log-likelihood under Student's distribution of variance 1, bounded."""
    freedom = looks.freedom
    return np.minimum((freedom + 1) * np.log1p(deviates**2 / (freedom - 2)), looks.loss)
