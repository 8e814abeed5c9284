"""What is normal in each round among few nodes, of which half may be slow.

docs/how-to/localisation.md has the method in words.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from fabricheck.trend.robust import NORMAL_MAD, Array, Flags

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
_LEAST: Final = 1e-3
"""Length of a place beside the rounds below which these are the same."""


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

    def cost(self, finest: float, candidates: int) -> float:
        """Of explaining the tests with these places; less is better (profile likelihood)."""
        places = self.slow.shape[1]
        free = len(self.left) - self.basis.shape[1] + places
        spread = self.left @ self.left / len(self.left) + finest**2
        return float(free / 2 * np.log(spread) + places * np.log(candidates / _RISK))


def against_normal(slow: Array, rounds: Array, places: Flags, finest: float) -> tuple[Array, float]:
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
            each.slow.any(axis=1).tobytes(): each for one in sets for each in one.wider(places)
        }
        sets = sorted(wider.values(), key=lambda each: float(each.left @ each.left))[:_KEPT]
        if sets and (cost := sets[0].cost(finest, places.shape[1])) < least:
            best, number, least = sets[0], depth, cost
    return best
