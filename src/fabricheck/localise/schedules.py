"""Who measures with whom in the next round: all nodes at once, in disjoint pairs.

docs/how-to/localisation.md has the method in words.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.judging import LocationVerdict, judge

ROUNDS: Final = 12
"""Rounds at most, where all pairs are not asked for."""
_FEWEST: Final = 5
"""Rounds at least: four slow ones accuse, and one may be spoilt."""
_FEW_NODES: Final = 16
"""Up to so many nodes, every pair is measured."""
_FEWEST_PAIRS: Final = 4
"""Up to so many nodes, every pair is measured twice."""
_ONE_PAIR: Final = 3
"""Nodes of which one pair measures in a round: all take turns."""
_AGAIN: Final = 5
"""Rounds after all pairs were measured."""
_FIRST: Final = 2
"""Rounds at random before suspects are looked at."""
_CYCLE: Final = 4
"""With leaves known, one round of so many stays inside the leaves."""
_GROUP: Final = 4
"""Suspects from which they measure with one another too: what they share is then cleared."""


class Schedule:
    """The rounds of one run; each is decided by what those before measured.

    Args:
        fabric: the nodes, and what is known of their topology.
        seed: of what is left to chance.
        full: measure every pair, and nothing but once.
        most: rounds at most; without ``full``.
    """

    def __init__(
        self, fabric: Fabric, seed: int, *, full: bool = False, most: int = ROUNDS
    ) -> None:
        self._fabric = fabric
        self._random = np.random.default_rng(seed)
        self._nodes = len(fabric.nodes)
        self._tournament = full or self._nodes <= _FEW_NODES
        self._labels = self._random.permutation(self._nodes)
        turns = self._nodes - 1 + self._nodes % 2
        turns *= 2 if self._nodes <= _FEWEST_PAIRS and not full else 1
        self._turns = turns if self._tournament else 0
        self._fewest = turns if full else max(self._turns, _FEWEST)
        self._most = turns if full else max(most, self._turns + _AGAIN if self._turns else 0)
        self._has_leaves = bool((fabric.leaf >= 0).all()) and len(fabric.leaves) > 1

    def next(self, rounds: Sequence[Round]) -> Ints | None:
        """Pairs × 2 of the next round; ``None`` when there is nothing left to tell."""
        number = len(rounds)
        if number >= self._most:
            return None
        if number < self._turns:
            return _turn(self._labels, number)
        if self._has_leaves and number < self._fewest:
            return self._of_leaves(number)
        if number < _FIRST:
            return self._random_pairs(np.arange(self._nodes))
        return self._after(judge(rounds, self._fabric), number)

    def _after(self, verdict: LocationVerdict, number: int) -> Ints | None:
        """What is decided by the rounds before."""
        retest = self._tournament and len(verdict.retest) > 0
        if number >= self._fewest and not verdict.is_open and not retest:
            return None
        if self._nodes == _ONE_PAIR:
            return _turn(self._labels, number)
        if self._tournament:
            return self._with(verdict.retest)
        return self._of_leaves(number) if self._has_leaves else self._confirm(verdict, number)

    def _random_pairs(self, nodes: Ints) -> Ints:
        mixed = self._random.permutation(nodes)
        return mixed[: len(mixed) // 2 * 2].reshape(-1, 2)

    def _rest(self, pairs: Sequence[Ints]) -> Ints:
        """The pairs, and those left without one in pairs at random."""
        taken = np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs])
        left = np.setdiff1d(np.arange(self._nodes), taken)
        return np.concatenate([taken, self._random_pairs(left)])

    def _with(self, wanted: Ints) -> Ints:
        """As many of the wanted pairs as are disjoint, the first ones first."""
        taken: set[int] = set()
        pairs = []
        for one, other in wanted:
            if not {int(one), int(other)} & taken:
                taken |= {int(one), int(other)}
                pairs.append([one, other])
        return self._rest([np.array(pairs, dtype=np.int64).reshape(-1, 2)])

    def _of_leaves(self, number: int) -> Ints:
        """Leaf against leaf, each node with one of the other: every link is used as often."""
        members = [
            self._random.permutation(np.flatnonzero(self._fabric.leaf == leaf))
            for leaf in self._random.permutation(len(self._fabric.leaves))
        ]
        if number % _CYCLE == _CYCLE // 2:
            return self._rest([self._random_pairs(each) for each in members])
        return self._rest(
            [_side_by_side(one, other) for one, other in zip(members[::2], members[1::2])]  # noqa: B905
        )

    def _confirm(self, verdict: LocationVerdict, number: int) -> Ints:
        """Each suspect with another good node, or in turns with other suspects.

        Nodes of a congested leaf are slow with all others, but not with one another. So those that
        were good with a suspect measure with those that were not yet.
        """
        if number % 3 != _FIRST and len(verdict.alike) >= _GROUP:
            suspects = self._random.permutation(verdict.alike)
            known = np.isin(suspects, _good_together(verdict))
            return self._rest([self._random_pairs_of(suspects[known], suspects[~known])])
        suspects = self._random.permutation(np.concatenate([verdict.suspects, verdict.bad]))
        partners = self._random.permutation(verdict.good)
        return self._rest([_side_by_side(suspects, partners)])

    def _random_pairs_of(self, one: Ints, other: Ints) -> Ints:
        """One of each; those that are too many among themselves."""
        pairs = _side_by_side(one, other)
        left = np.concatenate([one[len(pairs) :], other[len(pairs) :]])
        return np.concatenate([pairs, self._random_pairs(left)])


def _good_together(verdict: LocationVerdict) -> Ints:
    """The nodes that much speaks against, but that were good both ways with another such node."""
    bandwidth = verdict.tests[0]
    together = np.isin(bandwidth.sender, verdict.alike)
    together &= np.isin(bandwidth.receiver, verdict.alike)
    good = bandwidth.slower < bandwidth.visible / 2
    there, back = np.split(together & good, 2)
    both = np.flatnonzero(there & back)
    return np.union1d(bandwidth.sender[both], bandwidth.receiver[both])


def _side_by_side(one: Ints, other: Ints) -> Ints:
    both = min(len(one), len(other))
    return np.column_stack([one[:both], other[:both]])


def _turn(labels: Ints, number: int) -> Ints:
    """Round of a tournament by the circle method: one stays, the others move on by one."""
    players = [*map(int, labels), *([-1] if len(labels) % 2 else [])]
    moved = players[1:]
    shift = number % len(moved)
    circle = [players[0], *moved[shift:], *moved[:shift]]
    half = len(circle) // 2
    pairs: Iterable[tuple[int, int]] = zip(circle[:half], reversed(circle[half:]), strict=True)
    return np.array([pair for pair in pairs if -1 not in pair], dtype=np.int64)
