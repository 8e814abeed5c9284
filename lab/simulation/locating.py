"""How well slow nodes and links are found, by ``fabricheck locate`` and by its rivals."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Ints
from fabricheck.localise.judging import judge
from fabricheck.localise.schedules import Schedule
from fabricheck.trend.robust import Array
from simulation.pairs import RATE, Kind, Simulated
from simulation.power import Rate
from simulation.tables import share

_SECONDS = 2.0
_SLOW = 0.05
"""What a rival takes for slow, as a logarithm, above the noise that it is told."""
_FEW = 3
"""Runs of each beside the others, of which a full tournament is long."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one run named: rounds, false accusations, places of faults, those named, set sizes.

    And the seconds of CPU that planning the longest round took, and judging all.
    """

    rounds: int
    false: int
    faults: int
    named: int
    sizes: Sequence[int] = ()
    planning: float = 0.0
    judging: float = 0.0


def ours(simulated: Simulated, seed: int) -> Found:
    """As ``fabricheck locate``; a congested leaf that is named as such is no false accusation."""
    fabric = simulated.fabric()
    schedule = Schedule(fabric, seed)
    rounds: list[Round] = []
    planning, began = 0.0, time.process_time()
    while (pairs := schedule.next(rounds)) is not None:
        planning = max(planning, time.process_time() - began)
        rounds.append(simulated.measure(pairs))
        began = time.process_time()
    began = time.process_time()
    verdict = judge(rounds, fabric)
    judging = time.process_time() - began
    truth, busy = simulated.truth(), f"leaf{simulated.congested} "
    sets = [each.names for each in verdict.accused]
    named = {name for names in sets for name in names}
    right = [names for names in sets if truth & set(names)]
    false = sum(not any(name in truth or name.startswith(busy) for name in each) for each in sets)
    sizes = [len(each) for each in right]
    return Found(len(rounds), false, len(truth), len(truth & named), sizes, planning, judging)


_FABRIC = Kind(32, 32, bad=20)
SELDOM = {
    "slow in 30 % of rounds": replace(_FABRIC, often=0.3),
    "slow in 60 % of rounds": replace(_FABRIC, often=0.6),
    "slow by 3 to 5 %": replace(_FABRIC, by=(0.03, 0.05)),
    "none slow": replace(_FABRIC, bad=0),
    "none slow, heavy tails": replace(_FABRIC, bad=0, heavy=True),
    "none slow, heavy tails, one congested leaf": replace(
        _FABRIC, bad=0, heavy=True, correlated=True
    ),
    "one of 8, half as fast in 30 % of rounds": Kind(4, 2, bad=1, by=(0.5, 0.5), often=0.3),
}


def seldom(runs: int, seed: int) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """What is slow now and then or by little: named as accused or not cleared, or not good."""
    yield (
        "slow now and then, or by little",
        (
            {"fabric": words, "rounds": most} | _doubted(kind, most, runs, seed)
            for words, kind in SELDOM.items()
            for most in (12, 16)
        ),
    )


def _doubted(kind: Kind, most: int, runs: int, seed: int) -> dict[str, Any]:
    named = doubted = false = wrong = unclear = 0
    for number in range(runs):
        simulated = Simulated(kind, seed + number)
        fabric = simulated.fabric()
        schedule = Schedule(fabric, seed + number, most=most)
        rounds: list[Round] = []
        while (pairs := schedule.next(rounds)) is not None:
            rounds.append(simulated.measure(pairs))
        verdict, bad = judge(rounds, fabric), set(map(int, simulated.bad))
        told, accused = (
            {place % kind.nodes for each in found for place in each.places if place < fabric.size}
            for found in ([*verdict.accused, *verdict.open], verdict.accused)
        )
        left = set(range(kind.nodes)) - set(map(int, verdict.good))
        named += len(bad & told)
        doubted += len(bad & left)
        unclear += len(left - bad)
        false += bool(accused - bad)
        wrong += bool(told - bad)
    faults, sound = runs * kind.bad, runs * (kind.nodes - kind.bad)
    return {
        "runs": runs,
        "named": share(Rate(named, faults)) if faults else "-",
        "named, or not good": share(Rate(doubted, faults)) if faults else "-",
        "sound nodes not good": share(Rate(unclear, sound)),
        "runs that accuse a sound node": share(Rate(false, runs)),
        "runs that name one": share(Rate(wrong, runs)),
    }


def _slower(simulated: Simulated, pairs: Ints) -> Array:
    """By how much each pair was slower in its worse direction than a good one, which is told."""
    measured = simulated.measure(pairs)
    return np.asarray(np.log(RATE) - np.log(np.minimum(measured.there, measured.back)))


def _nodes(simulated: Simulated, rounds: int, named: set[int]) -> Found:
    bad = set(map(int, simulated.bad))
    return Found(rounds, len(named - bad), len(bad), len(named & bad))


def reference_node(simulated: Simulated, seed: int) -> Found:
    """One node with each other, one after the other."""
    del seed
    nodes = simulated.kind.nodes
    pairs = np.column_stack([np.zeros(nodes - 1, dtype=np.int64), np.arange(1, nodes)])
    slow = _slower(simulated, pairs) > _limit(simulated, 1)
    return _nodes(simulated, nodes - 1, {int(node) for node in pairs[slow, 1]})


def clusterkit(simulated: Simulated, seed: int) -> Found:
    """Upper half with lower half; what is below 93 % of the best is measured again, the worse half.

    The rule and the retests are those of ClusterKit's manual; a bad pair names both nodes.
    """
    del seed
    half = simulated.kind.nodes // 2
    pairs = np.column_stack([np.arange(half), np.arange(half, 2 * half)])
    best, rounds = 0.0, 0
    while len(pairs):
        measured = simulated.measure(pairs)
        rate = np.minimum(measured.there, measured.back)
        best, rounds = max(best, float(rate.max())), rounds + 1
        out = np.flatnonzero(rate < 0.93 * best)
        if len(out) == len(pairs) or rounds > np.log2(half):
            break
        pairs = pairs[out[np.argsort(rate[out])][: max(1, len(pairs) // 2)]]
    return _nodes(simulated, rounds, set(map(int, pairs.ravel())))


def bisection(simulated: Simulated, seed: int) -> Found:
    """A ring of all; of a slow group both halves, at once; each of the last with a good node."""
    random = np.random.default_rng(seed)
    groups, rounds = [random.permutation(simulated.kind.nodes)], 0
    good: list[int] = []
    suspects: list[int] = []
    while groups:
        rounds += 1
        slow = []
        for group in groups:
            ring = np.column_stack([group, np.roll(group, 1)])
            if _slower(simulated, ring).max() > _limit(simulated, len(group)):
                slow.append(group)
            else:
                good += map(int, group[:1])
        suspects += [int(node) for group in slow if len(group) <= 2 for node in group]
        groups = [half for group in slow if len(group) > 2 for half in np.array_split(group, 2)]
    if not good or not suspects:
        return _nodes(simulated, rounds, set(suspects))
    pairs = np.column_stack([suspects, random.choice(good, len(suspects))])
    slow_ones = _slower(simulated, pairs) > _limit(simulated, 1)
    return _nodes(simulated, rounds + 1, {int(n) for n in np.array(suspects)[slow_ones]})


def tournament(simulated: Simulated, seed: int) -> Found:
    """Every pair once; a node that is slow with more than half of the others is accused."""
    random = np.random.default_rng(seed)
    nodes = simulated.kind.nodes
    slow = np.zeros(nodes)
    for _ in range(nodes - 1):
        # Whom a node meets first doesn't matter to who is slow with half of the others.
        pairs = random.permutation(nodes)[: nodes // 2 * 2].reshape(-1, 2)
        slow += np.bincount(
            pairs[_slower(simulated, pairs) > _limit(simulated, 1)].ravel(), minlength=nodes
        )
    return _nodes(simulated, nodes - 1, set(map(int, np.flatnonzero(slow > nodes / 2))))


def _limit(simulated: Simulated, tests: int) -> float:
    """What noise alone reaches among so many tests, and a little more."""
    return _SLOW + simulated.kind.noise * float(np.sqrt(2 * np.log(max(tests, 1))))


Way = Callable[[Simulated, int], Found]
RIVALS: dict[str, Way] = {
    "fabricheck locate": ours,
    "bisection": bisection,
    "one reference node": reference_node,
    "ClusterKit's rule": clusterkit,
    "tournament": tournament,
}
_LARGE = Kind(313, 32)
KINDS = {
    "10 bad": _LARGE,
    "100 bad": replace(_LARGE, bad=100),
    "10 bad, heavy tails, one congested leaf": replace(_LARGE, heavy=True, correlated=True),
    "100 bad, heavy tails, one congested leaf": replace(
        _LARGE, bad=100, heavy=True, correlated=True
    ),
    "none bad, heavy tails, one congested leaf": replace(
        _LARGE, bad=0, heavy=True, correlated=True
    ),
    "topology known: 6 nodes, 6 links": Kind(320, 32, 32, bad=6, links=6),
    "topology known, 2:1: 6 nodes, 6 links": Kind(320, 32, 16, bad=6, links=6),
}


def tables(
    runs: int, seed: int, kind: Kind | None
) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """For each kind of fabric: rounds, false accusations, named; then the rivals beside us."""
    kinds = KINDS if kind is None else {"as asked": kind}
    yield (
        "slow places from one allocation",
        (
            {f"{each.nodes} nodes" if kind else "some 10,000 nodes": words}
            | row([ours(Simulated(each, seed + n), seed + n) for n in range(runs)], each)
            for words, each in kinds.items()
        ),
    )
    if kind is None:
        yield from seldom(runs, seed)
        yield from beside(runs, seed)


def beside(runs: int, seed: int) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """The rivals, on the same fabrics as we."""
    yield "beside others", _beside(runs, seed)


def _beside(runs: int, seed: int) -> Iterator[dict[str, Any]]:
    for words in ("10 bad", "10 bad, heavy tails, one congested leaf"):
        for name, way in RIVALS.items():
            kind = replace(KINDS[words], leaves=32) if way is tournament else KINDS[words]
            count = min(runs, _FEW)
            found = [way(Simulated(kind, seed + n), seed + n) for n in range(count)]
            yield {"fabric": words, "way": f"{name}, {kind.nodes} nodes"} | row(found, kind)


def row(found: Sequence[Found], kind: Kind) -> dict[str, Any]:
    """The figures of some runs."""
    faults = sum(each.faults for each in found)
    sizes = [size for each in found for size in each.sizes]
    rounds = [each.rounds for each in found]
    return {
        "runs": len(found),
        "rounds": f"{np.mean(rounds):.1f} (at most {max(rounds)})",
        "node-hours": f"{np.mean(rounds) * _SECONDS * kind.nodes / 3600:.1f}",
        "runs with a false accusation": f"{100 * np.mean([e.false > 0 for e in found]):.1f} %",
        "faults named": f"{100 * sum(e.named for e in found) / faults:.2f} %" if faults else "-",
        "places in a set": f"{np.mean(sizes):.2f}" if sizes else "-",
        "planning, judging": f"{max(e.planning for e in found):.1f} s, "
        f"{max(e.judging for e in found):.1f} s",
    }
