"""Change points of others at as many false alarms as tonight's: optimal, and by halves.

Optimal segmentation is what PELT finds (Killick, Fearnhead and Eckley 2012), and BINSEG is Scott
and Knott's (1974), both of levels with squared costs. Their penalty is the least at which quiet
series are raised once in a thousand nights, found for each noise: no user knows a noise so well.
A series is raised while a change point lies among its last nights.
"""

from collections.abc import Callable

import numpy as np

from fabricheck.trend.robust import NORMAL_MAD, Array, Counts, Flags, align, medians
from simulation.power import RECENT, Rate

_SHORTEST = 2
_FALSE = 0.001
_HALVINGS, _MOST = 12, 2000.0

Nights = tuple[int, ...]
Raised = Callable[["Sums", Counts, float], Flags]


class Sums:
    """Cumulated values and squares of series, in units of their histories' deviation.

    Args:
        values: by series and night; NaN for a night without value.
        history: nights that tell level and deviation.

    Attributes:
        values: the same in these units, those that are there side by side on the left.
        count: how many of them are there after each night.
    """

    def __init__(self, values: Array, history: int) -> None:
        level = medians(values[:, :history])[:, None]
        scale = NORMAL_MAD * medians(np.abs(values[:, :history] - level))[:, None]
        there = np.isfinite(values)
        self.count: Counts = np.cumsum(there, axis=1)
        rows = (row[has] for row, has in zip((values - level) / scale, there, strict=True))
        # What is missing stands on the right, and is never asked for.
        self.values = np.nan_to_num(align([row[::-1] for row in rows])[:, ::-1])
        self.first, self.second = (
            np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0)))
            for each in (self.values, self.values**2)
        )

    def cost(self, begin: Counts, end: Counts) -> Array:
        """Squares around the mean of the values from begin to end, by series."""
        one, two = (
            np.take_along_axis(each, end, 1) - np.take_along_axis(each, begin, 1)
            for each in (self.first, self.second)
        )
        return np.asarray(two - one**2 / np.maximum(end - begin, 1))


def optimal(sums: Sums, nights: Counts, penalty: float) -> Flags:
    """Whether the last change point of the best segmentation is among the last values."""
    total: Array = np.full_like(sums.first, np.inf)
    total[:, 0] = -penalty
    last = np.zeros(total.shape, dtype=np.int64)
    for end in range(_SHORTEST, total.shape[1]):
        begin = np.arange(end - _SHORTEST + 1)
        one, two = (each[:, [end]] - each[:, begin] for each in (sums.first, sums.second))
        costs = total[:, begin] + two - one**2 / (end - begin) + penalty
        last[:, end] = costs.argmin(axis=1)
        total[:, end] = costs.min(axis=1)
    point = np.take_along_axis(last, nights, 1)
    return np.asarray((point > 0) & (point >= nights - RECENT))


def by_halves(sums: Sums, nights: Counts, penalty: float) -> Flags:
    """Whether a change point among the last values is found by splitting again and again."""
    raised = np.zeros(nights.shape, dtype=bool)
    places = np.tile(np.arange(sums.first.shape[1]), (len(nights), 1))
    for column, end in enumerate(nights.T[:, :, None]):
        begin, open_ = np.zeros_like(end), np.ones(len(end), dtype=bool)
        while open_.any():
            inside = (places >= begin + _SHORTEST) & (places <= end - _SHORTEST)
            middle = np.where(inside, places, end)
            parts = sums.cost(np.broadcast_to(begin, middle.shape), middle)
            parts += sums.cost(middle, np.broadcast_to(end, middle.shape))
            gain = np.where(inside, sums.cost(begin, end) - parts, -np.inf)
            split = gain.argmax(axis=1)
            open_ &= gain.max(axis=1) > penalty
            raised[:, column] |= open_ & (split >= end[:, 0] - RECENT)
            open_ &= ~raised[:, column]
            begin = np.where(open_, split, begin[:, 0])[:, None]
    return raised


def found(raised: Raised, still: Array, moved: Array, history: int, quiet: Nights) -> Rate:
    """How many series that moved are raised, where one in a thousand that did not is.

    Args:
        raised: which series are raised after so many values, at a penalty.
        still: series that stay, by night.
        moved: series that moved after the history.
        history: nights before that.
        quiet: numbers of nights of which a new alarm is false.
    """
    sums = Sums(still, history)
    asked = np.column_stack([sums.count[:, n - k - 1] for n in quiet for k in (1, 0)])
    low, high = 1.0, _MOST
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        each = raised(sums, asked, middle)
        false = np.mean(each[:, 1::2] & ~each[:, ::2])
        low, high = (middle, high) if false > _FALSE else (low, middle)
    sums = Sums(moved, history)
    return Rate(int(raised(sums, sums.count[:, history:], high).any(axis=1).sum()), len(moved))
