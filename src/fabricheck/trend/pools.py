"""Series that share a cause, as one: what is too small for each is plain in all of them.

A pool is what the series of a case, a transport, an MPI, a partition or a system have in common:
for each night the mean of their deviations for the worse, each weighed by how little it scatters,
first inside the cases, then over them. It is a series with a history and a scatter of its own, so a
night that is slow for all its series is noise of it.

From the whole down: of a pool that alarms and those inside it, that is asked whose common move
explains most. What moved as a whole is blamed once. Where it is not clear that all did, those are
shown that moved most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from fabricheck.history.frame import CASE
from fabricheck.history.series import Series, SeriesKey
from fabricheck.measures.metrics import Direction
from fabricheck.trend.robust import Array, Counts, spreads

_SCOPES: tuple[tuple[str, ...], ...] = (
    (),
    ("partition",),
    ("partition", "transport"),
    ("partition", "environ"),
    ("partition", "environ", "transport"),
    tuple(CASE),
)
"""What the series of a pool agree in, beside the system; the widest first."""

FEWEST = 8
"""Fewest series of a pool: a pool of fewer shows little more than its series, and is one more that
can be wrong."""

_BOUND = 3.0
"""Deviates at which a night of a series is cut off."""

_SURE = float(np.log(1000))
"""Logarithm of the odds that a pool moved as a whole, for it to be blamed, or a series stayed: one
in a thousand is blamed wrongly at most (Ville's inequality), as of alarms."""

_PRESENT = 0.5
"""Share of a pool's weight that a night must have."""


@dataclass(frozen=True, slots=True)
class Members:
    """Series by night, as pools are made of them.

    Attributes:
        keys: of each series.
        deviations: relative deviations from the level for the worse; a column is a night.
        scale: spread of each series.
        times: of the nights, in order.
        sessions: of the nights.
    """

    keys: Sequence[SeriesKey]
    deviations: Array
    scale: Array
    times: npt.NDArray[np.datetime64]
    sessions: npt.NDArray[np.str_]

    def narrowest(self, sets: Sequence[Counts], raised: Counts, since: np.datetime64) -> Counts:
        """The series of a pool that moved, or of one inside it whose common move explains more.

        All series of the one moved alike and no other did: that costs the logarithm of the number
        of pools that it is chosen from (Schwarz, as in ``moved``).

        Args:
            sets: the series of each pool.
            raised: those of the pool that moved.
            since: the first night after it did.
        """
        after = self.deviations[:, self.times >= since]
        nights = np.maximum(np.isfinite(after).sum(axis=1), 1)
        deviates = np.nansum(after, axis=1) / (self.scale * np.sqrt(nights))
        sign = float(np.sign(deviates[raised].sum()))
        inside = [each for each in sets if np.isin(each, raised).all()]

        def gain(places: Counts) -> float:
            common = max(sign * float(deviates[places].sum()), 0.0)
            explained = common * common / (2 * len(places))
            return explained - float(np.log(len(inside))) * (len(places) < len(raised))

        return max(inside, key=gain)

    def moved(self, members: Counts, since: np.datetime64) -> tuple[Counts, bool]:
        """Which of a pool's series moved, and whether it moved as a whole.

        Two explanations are compared: all series moved alike, or the half of them that moved most,
        or fewer, did, and the others did not. Which ones these are must be found out, and costs the
        logarithm of the number of choices (Schwarz 1978, *Estimating the dimension of a model*, has
        the same for parameters). The whole is blamed if it is a thousand times as likely. Else a
        series is named if it moved further than the greatest of so many deviates does by chance,
        the root of 2 ln N (Donoho and Johnstone 1994, *Ideal spatial adaptation by wavelet
        shrinkage*). Of a whole those are not named that are a thousand times as likely to have
        stayed.
        """
        after = self.deviations[members][:, self.times >= since]
        nights = np.isfinite(after).sum(axis=1)
        members, after, nights = (each[nights > 0] for each in (members, after, nights))
        deviates = np.nanmean(after, axis=1) / self.scale[members] * np.sqrt(nights)
        total, count = float(deviates.sum()), len(members)
        if not count:
            return members, False
        order = np.argsort(-np.sign(total) * deviates)
        chosen = np.arange(1, max(count // 2, 1) + 1)
        choices = gammaln(count + 1) - gammaln(chosen + 1) - gammaln(count - chosen + 1)
        some = np.cumsum(deviates[order])[: len(chosen)] ** 2 / (2 * chosen) - choices
        whole = total**2 / (2 * count) > some.max() + _SURE
        if whole:
            mean = total / count
            return members[mean * deviates - mean**2 / 2 > -_SURE], True
        most = order[: some.argmax() + 1]
        beyond_chance = np.sign(total) * deviates[most] > np.sqrt(2 * np.log(count))
        return members[most[beyond_chance]], False


@dataclass(frozen=True, slots=True)
class Pool:
    """Series as one.

    Attributes:
        series: the pool's, of ratios to the usual; greater is worse.
        members: places of its series.
    """

    series: Series
    members: Counts


def pooled(members: Members) -> Iterator[Pool]:
    """The pools of the series of one system, the widest first; each set of series once."""
    if not len(members.keys):
        return
    bound = _BOUND * members.scale[:, None]
    deviations = np.clip(members.deviations, -bound, bound)
    case = _labels(members.keys, tuple(CASE))
    cases = _means(deviations, 1 / members.scale**2, case)
    weight = 1 / np.maximum(spreads(cases), members.scale.min() * 1e-3) ** 2
    of_case = np.unique(case, return_index=True)[1]
    seen: set[bytes] = set()
    for scope in _SCOPES:
        label = _labels(members.keys, scope)
        values = cases
        if scope != tuple(CASE):
            values = _means(cases, weight, label[of_case])
        for number in range(len(values)):
            place = np.flatnonzero(label == number)
            if len(place) >= FEWEST and place.tobytes() not in seen:
                seen.add(place.tobytes())
                there = np.isfinite(values[number])
                key = SeriesKey(members.keys[0].system, "", "", "pool")
                ratios = np.exp(values[number][there])
                nights = (members.times[there], ratios, members.sessions[there])
                yield Pool(Series(key, *nights, Direction.LOWER), place)


def silent(gone: Sequence[SeriesKey], there: Sequence[SeriesKey]) -> Iterator[str]:
    """What no series is left of: each series that is gone counts with the widest such pool.

    Args:
        gone: series without value for too long.
        there: those that have values.
    """
    left = set(gone)
    for scope in _SCOPES:
        alive = {_label(key, scope) for key in there}
        lost_labels = {_label(key, scope) for key in left} - alive
        # What was imported has no transport: that is no pool.
        for label in sorted(each for each in lost_labels if scope == tuple(CASE) or all(each)):
            lost = {key for key in left if _label(key, scope) == label}
            left -= lost
            one = replace(next(iter(lost)), metric="", statistic="", size=None)
            yield str(one) if scope == tuple(CASE) else " ".join((one.system, *label))


def _label(key: SeriesKey, fields: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(getattr(key, name) for name in fields)


def _labels(keys: Sequence[SeriesKey], fields: tuple[str, ...]) -> Counts:
    numbers: dict[tuple[Any, ...], int] = {}
    return np.array([numbers.setdefault(_label(key, fields), len(numbers)) for key in keys])


def _means(values: Array, weight: Array, label: Counts) -> Array:
    """Weighted means of the rows with each label; NaN where less than half of the weight is."""
    there = np.isfinite(values)
    shape = (int(label.max()) + 1, values.shape[1])
    total, present = np.zeros(shape), np.zeros(shape)
    np.add.at(total, label, np.where(there, values, 0.0) * weight[:, None])
    np.add.at(present, label, there * weight[:, None])
    whole = np.bincount(label, weight)
    enough = present >= _PRESENT * whole[:, None]
    means = np.full(shape, np.nan)
    np.divide(total, present, out=means, where=enough & (present > 0))
    return means
