"""The fewest places that explain what was slow.

docs/how-to/localisation.md has the method in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabricheck.localise.evidence import Tests
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.trend.robust import Array, Flags

_RISK: Final = 0.01
"""Of accusing any sound place in a run."""
_STRONGEST: Final = 4.5
"""No round counts for more: one in 90 slow results is nobody's fault."""
_WEAKEST: Final = 1.5
_FEWEST_ROUNDS: Final = 3.1
"""Of the strongest evidence of a round: fewer than four never accuse."""
_GOOD_AT_MOST: Final = 0.15
"""A place at fault is slow in every round, but for so many of them (or one)."""
_ALIKE: Final = 2.5
"""Places whose evidence differs by less, for the same slow tests, are not told apart."""
_SAME_TESTS: Final = 0.75
_MUCH: Final = 1.2
"""Of the strongest evidence of a round."""
_LEAST_OF_PAIR: Final = 3
"""Tests of one pair from which it is a place of its own."""
_ROUNDING: Final = 1e-9
"""What is left of equal numbers."""
_LEAST_OF_LEAF: Final = 8
"""Tests of a leaf in a round from which one can tell that all of it was slow."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Places with the same evidence, of which one at least is slow.

    Attributes:
        metric: ``bandwidth`` or ``latency``.
        places: their numbers; those of pairs follow on the fabric's.
        names: ``n3 sends``, ``leaf1->spine2``, ``n2->n5``.
        slower: logarithm of by how much its slow tests are slower than their peers, the median.
        slow: tests that were slow.
        tests: tests that it alone may explain.
        partners: different nodes at the other end, and on how many leaves (0: unknown).
        leaves: see ``partners``.
        evidence: log-likelihood ratio.
    """

    metric: str
    places: tuple[int, ...]
    names: tuple[str, ...]
    slower: float
    slow: int
    tests: int
    partners: int
    leaves: int
    evidence: float


@dataclass(slots=True)
class _Accusation:
    """Places with the same evidence, their tests, and whether they are slow for another's sake."""

    places: Ints
    tests: Ints
    evidence: float
    is_excused: bool = False


class Explained:
    """The greedy explanation of the tests of one metric: place after place with most evidence.

    A test that an accused place explains says nothing more of any other.
    """

    def __init__(self, tests: Tests, fabric: Fabric, cap: float) -> None:
        self.tests, self.fabric, self.cap = tests, fabric, cap
        self.ratios = tests.ratios(cap)
        self.passed, self.pairs = _with_pairs(tests, fabric)
        self.places = fabric.size + len(self.pairs)
        self.left: Flags = np.ones(len(self.ratios), dtype=bool)
        self.rounds = int(tests.round.max()) + 1
        self.sums = self._sum(np.arange(len(self.ratios)))
        self.found: list[_Accusation] = []
        self._order, self._starts = _grouped(self.passed, self.places)
        self.scores, self.steady = self._judge_sums(self.sums)
        self.congested = self._congested()
        if self.congested.any():
            self.sums = self._told(np.arange(len(self.ratios)))
            self.scores, self.steady = self._judge_sums(self.sums)

    def _sum(self, which: Ints, values: Array | None = None) -> Array:
        """Places × rounds: sum of the ratios of some tests, or of other values of them."""
        here = self.passed[which]
        cells = here * self.rounds + self.tests.round[which][:, None]
        chosen = self.ratios if values is None else values
        weights = np.broadcast_to(chosen[which][:, None], here.shape)
        known = here >= 0
        sums = np.bincount(cells[known], weights[known], self.places * self.rounds)
        return np.asarray(sums.reshape(self.places, self.rounds), dtype=np.float64)

    def _congested(self) -> Flags:
        """Tests of rounds in which most of a leaf's were slow, where it was not so all the time.

        They tell of the leaf in that round, and of no node, and no link, that they passed.
        """
        every = np.arange(len(self.ratios))
        leaves = self.fabric.leaf_places
        if leaves.start == leaves.stop:
            return np.zeros(len(every), dtype=bool)
        counted = self._sum(every, np.ones(len(every)))[leaves]
        slow = self._sum(every, (self.ratios > 0).astype(np.float64))[leaves]
        for_a_while = (counted >= _LEAST_OF_LEAF) & (2 * slow > counted)
        for_a_while[self.steady[leaves]] = False
        cells = np.zeros((self.places + 1, self.rounds), dtype=bool)
        cells[leaves] = for_a_while
        # The last row is for -1: no place.
        return np.asarray(cells[self.passed, self.tests.round[:, None]].any(axis=1))

    def _told(self, which: Ints) -> Array:
        """Places × rounds: what some tests tell; those of a congested leaf, only of leaves."""
        leaves = self.fabric.leaf_places
        told = self._sum(which[~self.congested[which]])
        told[leaves] += self._sum(which[self.congested[which]])[leaves]
        return told

    def _judge_sums(self, sums: Array) -> tuple[Array, Flags]:
        """Evidence of each place, and whether it was slow in nearly every round."""
        capped = sums.clip(-self.cap, self.cap)
        good, slow = (capped < 0).sum(axis=1), (capped > 0).sum(axis=1)
        return capped.sum(axis=1), good <= np.maximum(1, _GOOD_AT_MOST * (good + slow))

    def tests_of(self, place: int) -> Ints:
        """The tests that passed a place, tell of it, and are not explained."""
        all_of_it = self._order[self._starts[place] : self._starts[place + 1]]
        leaves = self.fabric.leaf_places
        if leaves.start <= place < leaves.stop:
            return np.asarray(all_of_it[self.left[all_of_it]])
        return np.asarray(all_of_it[(self.left & ~self.congested)[all_of_it]])

    def explain(self) -> None:
        """Accuse until what is left accuses nobody."""
        enough = max(float(np.log(self.places / _RISK)), _FEWEST_ROUNDS * self.cap)
        while True:
            candidates = np.where(self.steady, self.scores, -np.inf)
            if self.fabric.is_spread:
                leaves = self.fabric.leaf_places
                candidates[leaves] = np.maximum(candidates[leaves], self._of_some_links())
            best = int(np.argmax(candidates))
            if candidates[best] < enough:
                break
            best = self._or_its_nodes(best, np.flatnonzero(candidates >= enough))
            mine = self.tests_of(best)
            slow = mine[self.ratios[mine] > 0]
            same = np.bincount(self.passed[slow].ravel() + 1, minlength=self.places + 1)[1:]
            alike = (same >= _SAME_TESTS * len(slow)) & (candidates > candidates[best] - _ALIKE)
            self.found.append(_Accusation(np.flatnonzero(alike), mine, float(candidates[best])))
            self._put_aside(slow)
        if self.tests.metric == "bandwidth":
            self._excuse()
        self._excuse_pairs()

    def _or_its_nodes(self, best: int, guilty: Ints) -> int:
        """Rather the other way of accused nodes, where these explain all that a leaf does.

        Args:
            best: the place with most evidence.
            guilty: the places with enough of it.
        """
        leaves, nodes = self.fabric.leaf_places, len(self.fabric.nodes)
        if not leaves.start <= best < leaves.stop:
            return best
        slow = self.tests_of(best)
        passed = self.passed[slow[self.ratios[slow] > 0]]
        known = [p % nodes for each in self.found for p in each.places if p < leaves.start]
        ways = guilty[(guilty < leaves.start) & np.isin(guilty % nodes, known)]
        if np.isin(passed, ways).any(axis=1).all():
            return int(ways[np.isin(ways, passed)][0])
        return best

    def _of_some_links(self) -> Array:
        """Evidence of each leaf that one of the links is slow over which flows choose.

        With S links, one of S results is slow, and of the others as many as chance makes so.
        """
        leaves, told = self.fabric.leaf_places, self.left & ~self.congested
        every = np.flatnonzero(told)
        counted = self._sum(every, np.ones(len(told)))[leaves]
        slow = self._sum(every, (self.ratios > 0).astype(np.float64))[leaves]
        chance = np.exp(-self.cap)
        share = 1 / np.tile(self.fabric.spread, 2)[:, None]
        if_slow = share + (1 - share) * chance
        ratios = slow * np.log(if_slow / chance)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios += (counted - slow) * np.log((1 - if_slow) / (1 - chance))
        evidence = ratios.clip(-self.cap, self.cap).sum(axis=1)
        return np.where(share[:, 0] < 1, evidence, -np.inf)

    def _excuse(self) -> None:
        """Take back what is slow only since its acknowledgements pass an accused link."""
        first = self.fabric.leaf_places.start
        links = [
            each
            for each in self.found
            if first <= each.places.min() and each.places.max() < self.fabric.size
        ]
        if not links:
            return
        back = self.fabric.passed(self.tests.receiver, self.tests.sender)
        late = [np.isin(back, link.places).any(axis=1) & (self.ratios > 0) for link in links]
        for each in self.found:
            slow = each.tests[self.ratios[each.tests] > 0]
            each.is_excused = any(
                link.evidence > each.evidence and behind[slow].mean() >= _SAME_TESTS
                for link, behind in zip(links, late, strict=True)
            )
        self._put_aside(np.flatnonzero(np.any(late, axis=0) & self.left))

    def _excuse_pairs(self) -> None:
        """Take back pairs of an accused node: a card that loses packets does so unevenly."""
        nodes = len(self.fabric.nodes)
        bad = [p % nodes for each in self.found for p in each.places if p < 2 * nodes]
        for each in self.found:
            if each.places.min() >= self.fabric.size:
                pairs = self.pairs[each.places - self.fabric.size]
                each.is_excused |= bool(np.isin(pairs, bad).any(axis=1).all())

    def _put_aside(self, slow: Ints) -> None:
        self.sums -= self._told(slow)
        self.sums[np.abs(self.sums) < _ROUNDING] = 0.0
        self.left[slow] = False
        touched = np.unique(self.passed[slow])
        touched = touched[touched >= 0]
        self.scores[touched], self.steady[touched] = self._judge_sums(self.sums[touched])

    @property
    def accused(self) -> list[Ints]:
        """The sets of places that are accused."""
        return [each.places for each in self.found if not each.is_excused]

    def slow_share(self) -> float:
        """Share of slow results among those that nothing explains."""
        left = self.left & ~self.congested
        return float((self.ratios[left] > 0).mean()) if left.any() else 0.0

    def much_against(self) -> Flags:
        """Places that were slow in two rounds more than not."""
        return np.asarray(self.scores > _MUCH * self.cap)

    def open(self) -> Ints:
        """Places with more for a fault than against it, and more than one slow round."""
        return np.flatnonzero((self.scores > 0) & ((self.sums > 0).sum(axis=1) > 1))

    def doubtful(self) -> Flags:
        """Of the fabric's places, those that are neither accused nor cleared."""
        doubtful = self.scores[: self.fabric.size] > -_WEAKEST
        doubtful &= self.sums[: self.fabric.size].any(axis=1)
        for each in self.found:
            doubtful[each.places[each.places < self.fabric.size]] = False
        return np.asarray(doubtful)

    def retest(self) -> Ints:
        """Pairs × 2: slow one way more often than not, unexplained; most evidence first."""
        nodes = len(self.fabric.nodes)
        left = np.flatnonzero(self.left & ~self.congested)
        ways = self.tests.sender[left] * nodes + self.tests.receiver[left]
        keys, inverse = np.unique(ways, return_inverse=True)
        evidence = np.bincount(inverse, self.ratios[left], minlength=len(keys))
        order = np.argsort(-evidence, kind="stable")
        slow = keys[order[: np.count_nonzero(evidence > 0)]]
        return np.sort(np.column_stack([slow // nodes, slow % nodes]), axis=1)

    def certain(self) -> set[int]:
        """Numbers of the nodes that an accusation names with nothing else beside it."""
        nodes = len(self.fabric.nodes)
        ways = [places for places in self.accused if places.max() < 2 * nodes]
        return {int(each[0]) % nodes for each in ways if len(set(each % nodes)) == 1}

    def narrow(self, certain: set[int]) -> None:
        """Of places with the same evidence, leave those of nodes at fault anyway: one cause."""
        nodes = len(self.fabric.nodes)
        for each in self.found:
            known = [p < 2 * nodes and p % nodes in certain for p in each.places.tolist()]
            if any(known):
                each.places = each.places[known]

    def finding(self, places: Sequence[int]) -> Finding:
        """The figures of some places with the same evidence."""
        first = places[0]
        open_ = _Accusation(np.array(places), self.tests_of(first), float(self.scores[first]))
        known = next((each for each in self.found if each.places.tolist() == places), open_)
        mine = known.tests
        slow = mine[self.ratios[mine] > 0]
        node = self.fabric.node_of(first)
        ends = np.concatenate([self.tests.sender[mine], self.tests.receiver[mine]])
        others = np.unique(ends[ends != node]) if node is not None else np.unique(ends)
        leaves = self.fabric.leaf[others]
        return Finding(
            self.tests.metric,
            tuple(places),
            tuple(self._name(place) for place in places),
            float(np.median(self.tests.slower[slow if len(slow) else mine])),
            len(slow),
            len(mine),
            len(others),
            len(np.unique(leaves[leaves >= 0])),
            known.evidence,
        )

    def _name(self, place: int) -> str:
        if place < self.fabric.size:
            return self.fabric.name(place)
        sender, receiver = self.pairs[place - self.fabric.size]
        arrow = "->" if self.tests.metric == "bandwidth" else "<->"
        return f"{self.fabric.nodes[sender]}{arrow}{self.fabric.nodes[receiver]}"


def explained(tests: Tests, fabric: Fabric) -> Explained:
    """What explains a metric; slow results count for less the more of them nothing explains."""
    decoded = Explained(tests, fabric, _STRONGEST)
    decoded.explain()
    share = decoded.slow_share()
    cap = float(np.clip(-np.log(max(share, 1e-9)), _WEAKEST, _STRONGEST))
    if cap < _STRONGEST:
        decoded = Explained(tests, fabric, cap)
        decoded.explain()
    return decoded


def _with_pairs(tests: Tests, fabric: Fabric) -> tuple[Ints, Ints]:
    """The places of each test, with pairs that were tested often as places of their own."""
    nodes = len(fabric.nodes)
    sender, receiver = tests.sender, tests.receiver
    if tests.metric == "latency":
        sender, receiver = np.minimum(sender, receiver), np.maximum(sender, receiver)
    keys, inverse, counts = np.unique(
        sender * nodes + receiver, return_inverse=True, return_counts=True
    )
    often = counts >= _LEAST_OF_PAIR
    numbers = np.where(often, fabric.size + np.cumsum(often) - 1, -1)
    pairs = keys[often]
    return (
        np.column_stack([tests.passed, numbers[inverse]]),
        np.column_stack([pairs // nodes, pairs % nodes]),
    )


def _grouped(passed: Ints, places: int) -> tuple[Ints, Ints]:
    """Tests ordered by place, and where each place begins."""
    tests = np.repeat(np.arange(len(passed)), passed.shape[1])
    flat = passed.ravel()
    known = flat >= 0
    order = np.argsort(flat[known], kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(flat[known], minlength=places))])
    return tests[known][order], starts
