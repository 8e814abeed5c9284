"""Many series and several detectors: how probable is it that what is raised tonight is false?"""

import numpy as np
import numpy.typing as npt
from scipy import stats

from fabricheck.trend.robust import Array

_DETECTORS = 3
"""Detectors with p-values. Each has its share of the false alarms, as an operator sees them all."""


def adjusted(p: npt.ArrayLike) -> Array:
    """The p-values of all series by one detector, adjusted for their number and the detectors'.

    Benjamini and Hochberg (1995, *Controlling the false discovery rate*) for the series, Bonferroni
    for the detectors.
    """
    q: Array = stats.false_discovery_control(np.asarray(p, dtype=float))
    return np.minimum(1.0, _DETECTORS * q)
