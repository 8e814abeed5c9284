"""Which places are at fault: the verdict on what the rounds measured.

docs/how-to/localisation.md has the method in words, and its measured power.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabricheck.localise.evidence import Round, Tests, tests_of
from fabricheck.localise.explaining import Finding, explained
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.now_and_then import doubts
from fabricheck.units import share

_LEAST_GOOD: Final = 2
"""Good nodes from which anything can be told of a third."""
_BLIND: Final = float(np.log(2))
"""Logarithm of a slowdown that a run must be able to see."""


@dataclass(frozen=True, slots=True)
class LocationVerdict:
    """What the rounds say.

    Attributes:
        accused: most evidence first.
        open: places that were neither accused nor cleared.
        good: numbers of the nodes that nothing speaks against.
        suspects: numbers of nodes that are neither good nor accused.
        bad: numbers of the accused nodes.
        retest: pairs × 2, those that were slow more than not, with no place that explains it: of
            bandwidth, then of latency, each with most evidence first.
        is_open: whether some place of the fabric is neither accused nor cleared.
        alike: numbers of nodes that much speaks against: faults, or what they share.
        tests: of bandwidth and latency.
        untrusted: why nothing of this can be believed; empty if it can.
    """

    accused: Sequence[Finding]
    open: Sequence[Finding]
    good: Ints
    suspects: Ints
    bad: Ints
    retest: Ints
    is_open: bool
    alike: Ints
    tests: Sequence[Tests]
    untrusted: str


def judge(rounds: Sequence[Round], fabric: Fabric) -> LocationVerdict:
    """The verdict on all rounds up to now."""
    tests = tests_of(rounds, fabric)
    decoded = [explained(each, fabric) for each in tests]
    certain = set[int]().union(*(each.certain() for each in decoded))
    for each in decoded:
        each.narrow(certain)
    nodes = len(fabric.nodes)
    bad = np.zeros(nodes, dtype=bool)
    unclear = np.zeros(nodes, dtype=bool)
    doubtful, alike = np.zeros(nodes, dtype=bool), np.zeros(nodes, dtype=bool)
    accused, undecided = [], []
    for each in decoded:
        accused += [each.finding(places.tolist()) for places in each.accused]
        undecided += [each.finding([int(place)]) for place in each.open()]
        for places in each.accused:
            bad[[place % nodes for place in places if place < 2 * nodes]] = True
        seldom = doubts(each)
        known = {place for finding in undecided for place in finding.places}
        undecided += [each.finding([int(p)]) for p in seldom.named if int(p) not in known]
        unclear[seldom.not_good % nodes] = True
        doubtful[seldom.named % nodes] = True
        doubtful |= each.doubtful()[: 2 * nodes].reshape(2, nodes).any(axis=0)
        alike |= each.much_against()[: 2 * nodes].reshape(2, nodes).any(axis=0)
    good = np.flatnonzero(~bad & ~doubtful & ~unclear)
    return LocationVerdict(
        sorted(accused, key=lambda each: -each.evidence),
        sorted(undecided, key=lambda each: -each.evidence),
        good,
        np.flatnonzero((doubtful | unclear) & ~bad),
        np.flatnonzero(bad),
        np.concatenate([each.retest() for each in decoded]),
        bool((doubtful & ~bad).any() or any(each.doubtful().any() for each in decoded)),
        np.flatnonzero(alike | bad),
        tests,
        _objection(nodes, nodes - int(bad.sum())) or ("" if accused else _blind(tests[0])),
    )


def _objection(nodes: int, left: int) -> str:
    if left >= _LEAST_GOOD and nodes > _LEAST_GOOD:
        return ""
    return (
        f"expected two good nodes at least among three or more, found {left} of {nodes}: the "
        "slow one is unknown; add nodes"
    )


def _blind(tests: Tests) -> str:
    if tests.visible <= _BLIND:
        return ""
    return (
        "slow nodes cannot be determined: bandwidths scatter by "
        f"{share(tests.noise)}, so that "
        "half of one would not stand out: look for other work on the nodes, and at the figures of "
        "the rounds"
    )
