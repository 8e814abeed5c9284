"""When did many series change at once? Each dates its change less sharply than all of them do.

A change's doubt about another night is how much better its own night explains its values: the
logarithm of a likelihood ratio. The nights between the two dates decide it, each by how much nearer
its value lies to the level before than to that after. If the other night is the true one, the doubt
exceeds ln(2/a) with probability a at most (Ville's inequality, for both directions).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fabricheck.trend.robust import Array, finest_spread, spreads

if TYPE_CHECKING:
    from fabricheck.trend.events import Change

Nights = npt.NDArray[np.datetime64]

_BOUND = 9.0
"""Bound of a value's squared distance from a level: an outlier belongs to neither."""

_WRONG = 0.05
"""Largest probability that one of an event's changes is taken for another event's."""


def doubts(changes: Sequence["Change"], nights: Nights) -> Array:
    """Each change's doubt about each night, infinite where it cannot have begun.

    Args:
        changes: the changes.
        nights: days, in order.
    """
    found = np.full((len(changes), len(nights)), np.inf)
    for row, change in zip(found, changes, strict=True):
        first = last = change.index
        if change.moved:
            first, last = change.start + 1, change.end - 1
        days = change.series.times[first : last + 1].astype("datetime64[D]")
        inside = (days[0] <= nights) & (nights <= days[-1])
        row[inside] = _doubt(change, first, last)[np.searchsorted(days, nights[inside])]
    return found


def believable(changes: int) -> float:
    """The largest doubt of a change that may have begun on the night of so many."""
    return float(np.log(2 * changes / _WRONG))


def _doubt(change: "Change", first: int, last: int) -> Array:
    """Doubt about each of the series' nights from first to last."""
    if first == last:
        return np.zeros(1)
    values = change.series.values
    logarithmic = bool((values > 0).all())
    x = np.log(values) if logarithmic else values
    before, after = x[change.start : change.index], x[change.index : change.end]
    old, new = np.median(before), np.median(after)
    residuals = np.concatenate([before - old, after - new])
    least = finest_spread(np.array([old]), logarithmic=np.array([logarithmic]))
    scale = np.maximum(spreads(residuals[None, :]), least)
    near = x[first : last + 1]
    costs = [np.minimum(((near - level) / scale) ** 2, _BOUND) for level in (old, new)]
    sums = np.cumsum((costs[0] - costs[1]) / 2)
    sums = np.concatenate([[0.0], sums[:-1]])
    return np.asarray(sums - sums[change.index - first])
