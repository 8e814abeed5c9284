"""What rounds of pairs say: how much slower each measurement was than its peers, in this noise.

docs/how-to/localisation.md has the method in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.trend.robust import NORMAL_MAD, Array, Flags

SMALLEST: Final = 0.05
"""Relative slowdown below which no place is accused."""
_VISIBLE: Final = 5.0
"""A slowdown is seen in one measurement if it is so many standard deviations of the noise."""
_FREEDOM: Final = 4.0
"""Degrees of freedom of the noise: Student's t with 4 forgives a burst that a normal would not."""
_FINEST: Final = 0.002
"""Noise is granted at least so much."""
_MANY: Final = 32
"""Measurements of a round from which its median is known well enough to be taken out."""
_FEW_NODES: Final = 32
"""Up to so many nodes, bad ones take part in so many tests that they move what is normal."""
_ROUNDS_FOR_NORMAL: Final = 3
_THREE: Final = 3
"""Nodes of which only two measure in a round, which then has nothing to compare them with."""
_ALONE: Final = 0.07
"""What pairs that never measure in the same round are granted: sound ones differ by a tenth."""

# What is normal in each round among few nodes, of which half may be slow.
_KEPT: Final = 4
"""Sets of slow places that are looked into further, of each number of places."""
_DEEPER: Final = 5
"""More places that must not be worth their number before a set is final."""
_RISK: Final = 0.05
_CLIPPED: Final = 2.5
"""Standard deviations beyond which a test no longer pulls."""
_TURNS: Final = 3
"""How often tests are clipped and fitted again."""
_CHANCE: Final = 2.0
"""Noise of N free tests is granted N-ths of itself, so many."""
_NONE: Final = 1e-9
"""What is left of equal numbers."""
_LEFT_NORMAL: Final = 0.1
"""Of the tests across leaves, or of all where no leaf is known: fewer would not tell what is normal
beside those inside leaves."""
_LEAST: Final = 1e-3
"""Length of a place beside the rounds below which these are the same."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured.

    Attributes:
        pairs: pairs × 2, numbers of nodes; no node twice.
        latency: one-way latency of each pair at 8 B, in seconds.
        there: bandwidth from the first of a pair to the second at 1 MiB, in bytes a second.
        back: and from the second to the first.
    """

    pairs: Ints
    latency: Array
    there: Array
    back: Array


@dataclass(frozen=True, slots=True)
class Tests:
    """Measurements of one quantity over all rounds.

    Attributes:
        metric: ``bandwidth`` or ``latency``.
        round: number of each one's round.
        sender: number of the node that sent.
        receiver: number of the node that received.
        passed: tests × places, -1 where there are fewer.
        slower: logarithm of how much slower it was than the yardstick.
        noise: standard deviation of ``slower`` of sound places, measured in this run.
    """

    metric: str
    round: Ints
    sender: Ints
    receiver: Ints
    passed: Ints
    slower: Array
    noise: float

    @property
    def visible(self) -> float:
        """Logarithm of the smallest slowdown that is told from noise in one measurement."""
        return max(float(np.log1p(SMALLEST)), _VISIBLE * self.noise)

    def ratios(self, cap: float) -> Array:
        """Log-likelihood of each test if a place on its way is slow, over that if none is."""
        z, slow = self.slower / self.noise, (self.slower - self.visible) / self.noise
        ratios: Array = np.clip(loss(z) * np.sign(z).clip(0) - loss(slow.clip(max=0)), -cap, cap)
        return ratios


def tests_of(rounds: Sequence[Round], fabric: Fabric) -> tuple[Tests, Tests]:
    """Bandwidth: both directions of each pair, each a test of its own, first all there, then all
    back; and latency: round trips, each of which passes the places of both directions.
    """
    one, other = np.concatenate([each.pairs for each in rounds]).T
    number = np.repeat(np.arange(len(rounds)), [len(each.pairs) for each in rounds])
    there, back, latency = (
        np.log(np.concatenate([getattr(each, name) for each in rounds]))
        for name in ("there", "back", "latency")
    )
    ends = np.concatenate([one, other]), np.concatenate([other, one])
    slow = -np.concatenate([there, back])
    return (
        _tests("bandwidth", fabric, np.tile(number, 2), ends, slow),
        _tests("latency", fabric, number, (one, other), latency),
    )


def _tests(
    metric: str, fabric: Fabric, number: Ints, ends: tuple[Ints, Ints], slow: Array
) -> Tests:
    sender, receiver = ends
    passed = fabric.passed(sender, receiver)
    if metric == "latency":
        passed = np.column_stack([passed, fabric.passed(receiver, sender)])
    few = _THREE <= len(fabric.nodes) <= _FEW_NODES
    if not few or int(number.max()) < _ROUNDS_FOR_NORMAL:
        slower = _against_peers(fabric, number, sender, receiver, slow)
        noise = max(_spread(slower), _FINEST)
    else:
        across = fabric.is_across(sender, receiver)
        rounds = np.column_stack([number[:, None] == np.unique(number), across])
        # What waits for acknowledgements is slow both ways, as all of a node is.
        ways = [_places(each, fabric.size) for each in (passed, fabric.passed(receiver, sender))]
        places = np.unique(np.column_stack([ways[0] | ways[1], ways[0]]), axis=1)
        slower, noise = _against_normal(slow, rounds.astype(float), places, _FINEST)
        if len(fabric.nodes) == _THREE:
            slower, noise = _of_three(slow, slower, sender + receiver, across), max(noise, _ALONE)
    return Tests(metric, number, sender, receiver, passed, slower, noise)


def _against_peers(
    fabric: Fabric, number: Ints, sender: Ints, receiver: Ints, slow: Array
) -> Array:
    """The distance from the yardstick of the stratum: inside a leaf, or across leaves.

    The yardstick is the median over nodes of each node's median, which less than half of the nodes
    can't move, however few there are; then the median of each round that has many tests.
    """
    distance = np.empty_like(slow)
    across = fabric.is_across(sender, receiver)
    for here in (across, ~across):
        if not here.any():
            continue
        medians = np.concatenate(
            [median_of(each[here], slow[here], len(fabric.nodes)) for each in (sender, receiver)]
        )
        distance[here] = slow[here] - np.nanmedian(medians)
        for each in np.unique(number[here]):
            now = here & (number == each)
            if now.sum() >= _MANY:
                distance[now] -= np.median(distance[now])
    return distance


def _places(passed: Ints, size: int) -> Flags:
    """Tests × places: which passed which."""
    return np.asarray((passed[:, :, None] == np.arange(size)).any(axis=1))


def _of_three(slow: Array, slower: Array, pair: Ints, across: Flags) -> Array:
    """Against the fastest pair where both others are much slower: its nodes are both sound."""
    pairs = np.unique(pair)
    levels = np.sort([np.median((slow - slower)[pair == each]) for each in pairs])
    alike = len(pairs) == _THREE and across.all() == across.any()
    return slow - levels[0] if alike and levels[1] - levels[0] > _VISIBLE * _ALONE else slower


def _spread(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(NORMAL_MAD * np.median(np.abs(known - np.median(known))))


def median_of(keys: Ints, values: Array, count: int) -> Array:
    """The lower median of the values of each key, NaN for a key without one."""
    order = np.lexsort((values, keys))
    counts = np.bincount(keys, minlength=count)
    middle = np.cumsum(counts) - counts + (counts - 1).clip(0) // 2
    ordered = values[order]
    found = ordered[middle.clip(max=len(ordered) - 1)]
    return np.where(counts > 0, found, np.nan)


def loss(z: Array) -> Array:
    """Negative logarithm of Student's density, 0 at its middle."""
    return np.asarray((_FREEDOM + 1) / 2 * np.log1p(np.square(z) / _FREEDOM))


class _Set(NamedTuple):
    """Slow places: what they and the rounds span, what is left, the tests that each explains."""

    basis: Array
    left: Array
    slow: Flags

    def wider(self, places: Flags) -> Iterator["_Set"]:
        """The best sets with one place more; a test belongs to the first of its places."""
        own = places & ~self.slow.any(axis=1, keepdims=True)
        more = own - self.basis @ (self.basis.T @ own)
        size, along = np.linalg.norm(more, axis=0), self.left @ more
        gain = np.where((size > _LEAST) & (along > 0), along / np.maximum(size, _NONE), 0)
        for best in np.argsort(-gain)[:_KEPT]:
            if gain[best] > 0:
                column = more[:, best] / size[best]
                yield _Set(
                    np.column_stack([self.basis, column]),
                    self.left - column * gain[best],
                    np.column_stack([self.slow, own[:, best]]),
                )

    def has_normal(self, across: Flags) -> bool:
        """Whether enough tests across leaves pass no slow place."""
        return bool((across & ~self.slow.any(axis=1)).sum() >= _LEFT_NORMAL * across.sum())

    def cost(self, finest: float, candidates: int) -> float:
        """Of explaining the tests with these places; less is better (profile likelihood)."""
        places = self.slow.shape[1]
        free = len(self.left) - self.basis.shape[1] + places
        spread = self.left @ self.left / len(self.left) + finest**2
        return float(free / 2 * np.log(spread) + places * np.log(candidates / _RISK))


def _against_normal(
    slow: Array, rounds: Array, places: Flags, finest: float
) -> tuple[Array, float]:
    """How much slower each test was than the sound ones of its round, and their noise.

    Args:
        slow: logarithm of the time of each test.
        rounds: tests × columns, what is normal: one for each round, one for each stratum but one.
        places: tests × places, which tests pass which place that may be slow.
        finest: noise is granted at least so much.
    """
    slow = slow - np.median(slow)
    pulled = slow
    for _ in range(_TURNS):
        found = _best(pulled, rounds, places, finest)
        fitted = np.linalg.lstsq(np.column_stack([rounds, found.slow]), pulled, rcond=None)[0]
        normal = rounds @ fitted[: rounds.shape[1]]
        rest = slow - (pulled - found.left)
        free = len(slow) - found.basis.shape[1]
        # Few tests that are free can lie close together by chance.
        wider = np.sqrt(len(slow) / max(free, 1)) * (1 + _CHANCE / max(free, 1))
        noise = max(float(NORMAL_MAD * np.median(np.abs(rest)) * wider), finest)
        pulled = slow - rest + np.clip(rest, -_CLIPPED * noise, _CLIPPED * noise)
    return slow - normal, noise


def _best(slow: Array, rounds: Array, places: Flags, finest: float) -> _Set:
    """The set of slow places that explains the tests best."""
    columns, weights, _ = np.linalg.svd(rounds, full_matrices=False)
    basis = columns[:, weights > _NONE * weights[0]]
    sets = [_Set(basis, slow - basis @ (basis.T @ slow), np.empty((len(slow), 0), dtype=bool))]
    best, number, depth = sets[0], 0, 0
    least = best.cost(finest, places.shape[1])
    while sets and depth < number + _DEEPER:
        depth += 1
        wider = {
            each.slow.any(axis=1).tobytes(): each
            for one in sets
            for each in one.wider(places)
            if each.has_normal(rounds[:, -1] > 0)
        }
        sets = sorted(wider.values(), key=lambda each: float(each.left @ each.left))[:_KEPT]
        if sets and (cost := sets[0].cost(finest, places.shape[1])) < least:
            best, number, least = sets[0], depth, cost
    return best
