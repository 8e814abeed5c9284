"""Sudden changes: one night that leaves everything that its series has ever shown.

Steps take three nights to be told from outliers. A fabric at half its rate must not wait so long,
and a young series has no history to speak of. But one night is full of single values that an
interrupted iteration has spoiled, so a curve must bear them out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import SeriesKey
from fabricheck.trend.robust import Array, Rows, medians
from fabricheck.trend.settings import Settings

LEAST = 2
"""Fewest nights before it."""

_NIGHTS = 7
_YOUNG = 6.0
"""With so many nights of history, the logarithm of the factor asked for is twice the usual."""

_BEYOND = 2.0
"""How much further than the worst night so far, in distances from the median."""

_ROBUST_FIRST = ("p50", "avg")
_SIZES = 4
"""A curve of so many sizes bears a change out with a quarter of them, and with two at the least."""


@dataclass(frozen=True, slots=True)
class Sudden:
    """A sudden change.

    Attributes:
        row: the row of the series.
        place: its column, counted from the last: -1 is tonight.
        history: nights before it.
        holds: whether tonight is as bad.
    """

    row: int
    place: int
    history: int
    holds: bool


def sudden(rows: Rows, settings: Settings) -> Iterator[Sudden]:
    """The sudden changes for the worse of the last nights, at most one for each row: the first."""
    matrix, worse = rows.matrix, rows.worse
    done = np.zeros(len(matrix), dtype=bool)
    for place in range(-min(_NIGHTS, matrix.shape[1] - LEAST), 0):
        history = matrix[:, :place][:, -settings.history_nights :]
        count = np.sum(np.isfinite(history), axis=1)
        level = medians(history)
        with np.errstate(invalid="ignore"):
            now = _worsening(matrix[:, place] - level, worse)
            tonight = _worsening(matrix[:, -1] - level, worse)
            past = _worsening(history - level[:, None], worse[:, None])
            worst = np.max(np.where(np.isfinite(past), past, 0.0), axis=1, initial=0.0)
            least = np.log(settings.sudden_factor) * (1 + _YOUNG / np.maximum(count, 1))
            # Without logarithms in units of the level; where that is 0, any difference counts.
            least = np.where(rows.logarithmic, least, np.expm1(least) * np.abs(level))
            found = (count >= LEAST) & (now > 0) & (now >= np.maximum(least, _BEYOND * worst))
        for row in np.flatnonzero(found & ~done):
            yield Sudden(int(row), place, int(count[row]), bool(tonight[row] >= now[row] / 2))
        done |= found


def borne_out(found: Sequence[Sudden], keys: Sequence[SeriesKey]) -> list[Sudden]:
    """The sudden changes that their curves bear out; so with those that hold.

    What limits a path worsens many sizes, and their medians. One size alone, or averages and high
    percentiles whose medians stayed, were interrupted: they wait for a step of several nights.

    Args:
        found: sudden changes.
        keys: key of each row.
    """
    sizes = Counter((_curve(key), key.statistic) for key in keys)

    def borne(changes: Sequence[Sudden]) -> list[Sudden]:
        votes = Counter(
            (_curve(keys[each.row]), keys[each.row].statistic, each.place) for each in changes
        )

        def is_borne_out(each: Sudden) -> bool:
            key = keys[each.row]
            curve = _curve(key)
            robust = next((name for name in _ROBUST_FIRST if (curve, name) in sizes), key.statistic)
            count = sizes[curve, robust]
            least = 1 if count < _SIZES else max(2, count / _SIZES)
            return votes[curve, robust, each.place] >= least

        return [each for each in changes if is_borne_out(each)]

    believed = borne(found)
    holding = set(borne([each for each in believed if each.holds]))
    return [replace(each, holds=each in holding) for each in believed]


def _curve(key: SeriesKey) -> SeriesKey:
    return replace(key, statistic="", size=None)


def _worsening(difference: Array, worse: npt.NDArray[np.int8]) -> Array:
    return np.where(worse == 0, np.abs(difference), difference * worse)
