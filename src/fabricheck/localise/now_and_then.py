"""What is slow now and then, or always by little: too seldom, or too little, for one round to tell.

A place at fault is slow in nearly every round (``explaining``). A cable that fails now and then is
not; it is slow in more rounds than the fabric's other places are by chance (binomial test). And
what is slower by less than the noise of one measurement shows in the mean over the rounds, beside
the means of all nodes: these differ where nodes do, and then nothing is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Final

import numpy as np

from fabricheck.localise.explaining import Explained
from fabricheck.localise.fabric import Ints
from fabricheck.trend.robust import NORMAL_MAD, Array, Flags

_NOT_GOOD: Final = 0.001
"""Largest share of sound places that are not called good."""
_NAMED: Final = 0.01
"""Of naming any sound place in a run."""
_SLOW: Final = 0.7
"""Share of what one measurement can tell from noise, beyond which it counts as slow."""
_LEAST_SLOW: Final = 3
"""Two slow rounds are what one bad moment can leave."""
_FEWEST: Final = 4
"""Rounds from which a mean says more than its worst one."""
_MANY: Final = 32
"""Nodes from which one can tell how much their means differ."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Ways of nodes, by number of place.

    Attributes:
        not_good: those that are not called good.
        named: those of them that are so by no chance.
    """

    not_good: Ints
    named: Ints


def doubts(decoded: Explained) -> Doubts:
    """What the tests say of each way of each node that nothing accused explains."""
    nodes = len(decoded.fabric.nodes)
    p = np.ones((2, nodes))
    for ways, cells in _views(decoded):
        p[ways] = np.minimum(p[ways], np.minimum(*_p_values(cells, decoded)))
    flat = p.ravel()
    for places in decoded.accused:
        flat[places[places < 2 * nodes]] = 1.0
    return Doubts(*(np.flatnonzero(flat <= bound) for bound in (_NOT_GOOD, _NAMED / len(flat))))


def _views(decoded: Explained) -> Iterator[tuple[slice, Array]]:
    """Which ways, and by node and round how much slower they were; NaN without a test."""
    tests, nodes = decoded.tests, len(decoded.fabric.nodes)
    told = np.zeros(len(tests.round), dtype=bool)
    # Pairs that were slow meet again, and one that always is would count each time.
    order = np.argsort(tests.round, kind="stable")
    pairs = (tests.sender * nodes + tests.receiver)[order]
    told[order[np.unique(pairs, return_index=True)[1]]] = True
    told &= decoded.left & ~decoded.congested
    both = (np.concatenate([tests.sender, tests.receiver]), 2)
    seen = [(slice(0, 2), *both)]
    if tests.metric == "bandwidth":
        seen += [(slice(0, 1), tests.sender, 1), (slice(1, 2), tests.receiver, 1)]
    slower = np.clip(tests.slower, -tests.visible, tests.visible)
    for ways, node, times in seen:
        here = np.tile(told, times)
        cells = (node * decoded.rounds + np.tile(tests.round, times))[here]
        size = nodes * decoded.rounds
        count = np.bincount(cells, minlength=size)
        sums = np.bincount(cells, np.tile(slower, times)[here], size)
        means = np.divide(sums, count, out=np.full(size, np.nan), where=count > 0)
        yield ways, means.reshape(nodes, decoded.rounds)


def _p_values(cells: Array, decoded: Explained) -> tuple[Array, Array]:
    """Of being slow in so many rounds, and in the mean of all, by chance."""
    rounds = np.isfinite(cells).sum(axis=1)
    limit = _SLOW * decoded.tests.visible
    # A noisy node is fast as often as slow.
    slow = (cells > limit).sum(axis=1) - (cells < -limit).sum(axis=1)
    # Of a slow pair both ends were slow: the rounds of others tell what is chance.
    others = np.maximum((cells > limit).sum() - 2 * slow, 0)
    share = (others + 1) / (rounds.sum() - 2 * rounds + 2).clip(min=1)
    often, asked = np.ones(len(cells)), slow >= _LEAST_SLOW
    if asked.any():
        # Seldom, and its import takes longer than all else that steers a job.
        from scipy import special  # noqa: PLC0415

        often[asked] = special.bdtrc(slow[asked] - 1.0, rounds[asked], np.minimum(share[asked], 1))
    return often, _of_means(cells, rounds >= _FEWEST)


def _of_means(cells: Array, enough: Flags) -> Array:
    p = np.ones(len(cells))
    if enough.sum() >= _MANY:
        means = np.nanmean(cells[enough], axis=1)
        distances = means - np.median(means)
        spread = NORMAL_MAD * float(np.median(np.abs(distances)))
        above = (distances / max(spread, 1e-9) / sqrt(2)).tolist()
        p[enough] = [erfc(each) / 2 for each in above]
    return p
