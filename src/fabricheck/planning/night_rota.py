"""Which cases are worth their time tonight: those that waited longest, for what they cost.

If each fault is seen by one case, resting in proportion to the root of its cost lets the mean time
to detection be least; so a case is worth its nights of waiting over that root. Nothing is assumed
of faults but that what changed is where they begin (docs/explanation/budget.md).
"""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

AFTER_CHANGE: Final = 30.0
"""A case that a change concerns counts as if it had waited so many nights more."""
LOOKS: Final = 3
"""After so many looks since the change it counts as any other."""

_ROUNDING: Final = 1e-12
_FREE: Final = 1e-9


class Rota:
    """Units of cases that are taken, one after the other.

    Args:
        value: of each unit: nights of waiting, times its weight.
        shares: units × resources: what each takes of the budget of each resource.

    Attributes:
        taken: the units that are taken.
        left: of each resource, as a share of its budget.
    """

    def __init__(self, value: Array, shares: Array) -> None:
        self._shares = shares
        self._score = value / np.sqrt(shares.max(axis=1) + _FREE)
        self.taken: Mask = np.zeros(len(shares), dtype=bool)
        self.left: Array = np.ones(shares.shape[1])

    def take(self, units: Mask) -> None:
        """Take these, whether they fit or not."""
        self.left -= self._shares[units & ~self.taken].sum(axis=0)
        self.taken |= units

    def fill(self, units: Mask) -> None:
        """Take the best of these as long as there is room."""
        self._fill(np.flatnonzero(units), np.zeros_like(self.left))

    def reach(self, units: Mask, paths: Sequence[Hashable]) -> None:
        """Take the best of these of each path that no unit was taken of, for half of what is left.

        Args:
            units: which.
            paths: of each unit.
        """
        reached = {path for path, taken in zip(paths, self.taken, strict=True) if taken}
        best: dict[Hashable, int] = {}
        for unit in self._ordered(np.flatnonzero(units)):
            if paths[unit] not in reached:
                best.setdefault(paths[unit], unit)
        self._fill(np.array(list(best.values()), dtype=int), self.left / 2)

    def _ordered(self, units: npt.NDArray[np.int_]) -> list[int]:
        return [int(each) for each in units[np.argsort(-self._score[units], kind="stable")]]

    def _fill(self, units: npt.NDArray[np.int_], spared: Array) -> None:
        for unit in self._ordered(units):
            rest = self.left - self._shares[unit]
            if not self.taken[unit] and (rest >= spared - _ROUNDING).all():
                self.left, self.taken[unit] = rest, True


def waited(nights: Array, looks: Array) -> Array:
    """What the waiting of cases counts.

    Args:
        nights: since each ran.
        looks: how often each ran since a change that concerns it; infinite where none does.
    """
    found: Array = nights + np.where(looks < LOOKS, AFTER_CHANGE, 0.0)
    return found
