"""What may be broken without anybody having seen it, and which cases are worth their time tonight.

A fault is at each moment there, unseen, with some probability. A night without its cases lets that
grow; a case that runs and sees nothing lowers it. Cases are taken one after the other, each time
the one that finds most for its share of the budget. What is found is a monotone submodular function
of the cases, so that this is near the best (Nemhauser, Wolsey and Fisher, 1978).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

AFTER_CHANGE: Final = 30.0
"""So many times as often as in other nights faults begin with a change of what they may lie in."""

_FREE: Final = 1e-9
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults that a system may have.

    Attributes:
        names: what each is.
        sees: faults × cases: the chance that a case which runs sees the fault that is there.
        rate: how often each begins, a night.
        weight: what each costs users beside the others.
    """

    names: tuple[str, ...]
    sees: Array
    rate: Array
    weight: Array


class Belief:
    """What is known of each fault: whether it is there, unseen, and for how long.

    Args:
        faults: the faults.
        nights: for so many nights nobody has looked when this begins.
    """

    def __init__(self, faults: Faults, nights: float = 0.0) -> None:
        self._faults = faults
        self.hidden: Array = -np.expm1(-faults.rate * nights)
        self.waited: Array = self.hidden * nights / 2

    def night(self, more: Array | float = 1.0) -> None:
        """A night begins; faults begin ``more`` times as often as usual."""
        self.hidden = 1 - (1 - self.hidden) * np.exp(-self._faults.rate * more)
        self.waited = self.waited + self.hidden

    def look(self, ran: Mask) -> None:
        """These cases ran. Whatever they saw is no longer unseen."""
        missed = np.prod(1 - self._faults.sees[:, ran], axis=1)
        self.hidden = self.hidden * missed / (1 - self.hidden * (1 - missed))
        self.waited = self.waited * missed

    @property
    def worth(self) -> Array:
        """What finding each fault tonight is worth: nights that it is expected to have lasted.

        A fault that is likely but young can wait. For cases that see one fault each and begin
        alike, this lets each rest in proportion to the root of its cost, which makes the mean time
        to detection least.
        """
        return self._faults.weight * self.waited


class Choice:
    """Cases that are taken, one after the other.

    Args:
        worth: of finding each fault.
        sees: faults × cases.
        shares: cases × resources: what each takes of the budget of each resource.

    Attributes:
        gain: what each case would find beside those that are taken.
        found: what those find.
        left: of each resource, as a share of its budget.
        taken: the cases that are taken.
    """

    def __init__(self, worth: Array, sees: Array, shares: Array) -> None:
        self._sees, self._shares = sees, shares
        self._unseen = worth.copy()
        self._price = shares.max(axis=1) + _FREE
        self.gain: Array = worth @ sees
        self.left: Array = np.ones(shares.shape[1])
        self.taken: Mask = np.zeros(len(shares), dtype=bool)
        self.found = 0.0

    def take(self, case: int) -> None:
        """Take a case, whether it fits or not."""
        if self.taken[case]:
            return
        rows = np.flatnonzero(self._sees[:, case])
        found = self._unseen[rows] * self._sees[rows, case]
        self._unseen[rows] -= found
        self.found += float(found.sum())
        self.gain -= found @ self._sees[rows]
        self.left -= self._shares[case]
        self.taken[case] = True

    def take_all(self, cases: Mask) -> None:
        """Take these, whether they fit or not."""
        for each in np.flatnonzero(cases):
            self.take(int(each))

    def fits(self) -> Mask:
        """The cases that are not taken, and for which there is room."""
        return ~self.taken & np.asarray(
            (self._shares <= self.left + _ROUNDING).all(axis=1), dtype=np.bool_
        )

    def fill(self, candidates: Mask) -> None:
        """Take the best of these for its price, as long as one fits and finds anything."""
        while True:
            score = np.where(candidates & self.fits(), self.gain / self._price, 0.0)
            best = int(np.argmax(score))
            if score[best] <= 0:
                return
            self.take(best)
