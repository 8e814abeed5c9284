"""From the nights of a case to references: a median, and tolerances that the noise asks for.

How far a night may lie from the median without meaning anything follows from how far the nights of
the window did. Values are taken as logarithms, so that deviations are ratios.

    tolerance = exp(k s) - 1      k = t(n - 1, 1 - a) * max(1, Q / z) * sqrt(1 + pi / (2 n))

s is the robust standard deviation of the variable's n nights (``trend.robust.spreads``). a is the
share of false alarms that is allowed for the case, divided by its variables (Bonferroni). The root
adds the uncertainty of the median. Q is the quantile of all deviations, in units of s, of the
case's sizes of one statistic, at the share of nights that are noise and not outliers; z is what it
is for normal noise. Heavy tails widen the tolerance by their ratio.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from fabricheck.measures.metrics import Direction
from fabricheck.trend.robust import Array, finest_spread, spreads

_NOT_CREDIBLE = 2.0
"""A value that is better by this factor is not credible: something else was measured."""

WIDEST = 10.0
"""A value that differs by this factor is critical, whatever the noise."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a case in which nothing changed may be raised.

    Attributes:
        critical: share of nights on which it is critical.
        warning: share of nights on which it is a warning or critical.
        outliers: share of nights that may be outliers, which tolerances need not cover.
    """

    critical: float = 0.001
    warning: float = 0.01
    outliers: float = 0.02


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the nights of a variable say.

    Attributes:
        value: their median, in the variable's unit.
        lower: critical below, as a fraction of the value, at most 0.
        upper: critical above, as a fraction.
        warning: share of the critical tolerance, towards the worse, at which to warn.
        error: standard error of the median, relative.
        nights: number of nights.
        too_noisy: whether the noise asks for more than ``WIDEST``.
    """

    value: float
    lower: float
    upper: float
    warning: float
    error: float
    nights: int
    too_noisy: bool


def is_too_noisy(found: Sequence[Estimate]) -> bool:
    """Whether references of a case would say nothing: at least half of its variables are wild."""
    return 2 * sum(each.too_noisy for each in found) >= len(found)


def estimates(
    windows: Sequence[Array], direction: Direction, rates: Rates, variables: int
) -> list[Estimate]:
    """Estimates for the sizes of one statistic of a case.

    Args:
        windows: for each size the values of its nights, all above 0.
        direction: which values are better.
        rates: how often the case may be raised.
        variables: number of the case's variables, of all statistics.
    """
    worse = 1.0 if direction is Direction.LOWER else -1.0
    scaled = [_scaled(values) for values in windows]
    deviations = np.concatenate([z for _, _, z in scaled])
    found = []
    for level, spread, own in scaled:
        nights = len(own)
        critical, warning, better = (
            min(
                spread * _factor(side * own, side * deviations, rate / variables, rates.outliers),
                float(np.log(WIDEST)),
            )
            for side, rate in (
                (worse, rates.critical),
                (worse, rates.warning),
                (-worse, rates.critical),
            )
        )
        better = max(better, float(np.log(_NOT_CREDIBLE)))
        bounds = (-better, critical) if worse > 0 else (-critical, better)
        lower, upper = (float(np.expm1(bound)) for bound in bounds)
        found.append(
            Estimate(
                value=float(np.exp(level)),
                lower=lower,
                upper=upper,
                warning=float(np.expm1(worse * warning) / np.expm1(worse * critical)),
                error=float(spread * np.sqrt(np.pi / (2 * nights))),
                nights=nights,
                too_noisy=critical >= np.log(WIDEST),
            )
        )
    return found


def _scaled(values: Array) -> tuple[float, float, Array]:
    """Level and spread of the logarithms, and their deviations in units of the spread."""
    logarithms = np.log(values)
    level = float(np.median(logarithms))
    residuals = (logarithms - level)[None, :]
    finest = finest_spread(np.array([level]), logarithmic=np.array([True]))
    spread = float(np.maximum(spreads(residuals), finest)[0])
    return level, spread, residuals[0] / spread


def _factor(own: Array, pool: Array, rate: float, outliers: float) -> float:
    """How many spreads a night may lie from the median towards the positive side."""
    nights = len(own)
    # Of 20 nights one may be an outlier, so the lower of two neighbours is taken.
    inside = max(float(np.quantile(each, 1 - outliers, method="lower")) for each in (own, pool))
    tails = max(1.0, inside / -float(ndtri(outliers)))
    return -float(stdtrit(nights - 1, rate)) * tails * float(np.sqrt(1 + np.pi / (2 * nights)))
