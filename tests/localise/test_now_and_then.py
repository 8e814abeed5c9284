"""What is slow now and then, or by little: named or not called good, and sound nodes are."""

from dataclasses import replace

import numpy as np
import pytest

from fabricheck.judge.levels import Level
from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.judging import LocationVerdict, judge
from fabricheck.localise.located import Located, lines
from fabricheck.localise.schedules import Schedule
from simulation.pairs import Kind, Simulated

_FABRIC = Kind(16, 32, bad=10)


def looked_at(kind: Kind, seed: int) -> tuple[Simulated, LocationVerdict, int]:
    """A fabric, and what 16 rounds say of it."""
    simulated = Simulated(kind, seed)
    fabric = simulated.fabric()
    schedule = Schedule(fabric, seed, most=16)
    rounds: list[Round] = []
    while (pairs := schedule.next(rounds)) is not None:
        rounds.append(simulated.measure(pairs))
    return simulated, judge(rounds, fabric), len(rounds)


@pytest.mark.parametrize(
    ("changes", "least"), [({"often": 0.3}, 8), ({"by": (0.03, 0.05)}, 9), ({"often": 0.6}, 9)]
)
def test_what_one_round_does_not_show_is_not_called_good(changes, least):
    simulated, verdict, _ = looked_at(replace(_FABRIC, **changes), 3)
    assert not verdict.accused
    assert len(set(map(int, simulated.bad)) - set(map(int, verdict.good))) >= least
    named = {place % _FABRIC.nodes for each in verdict.open for place in each.places}
    assert len(set(map(int, simulated.bad)) & named) >= 5
    assert verdict.is_open


def test_sound_nodes_are_good_and_end_the_run_soon():
    simulated, verdict, rounds = looked_at(replace(_FABRIC, bad=0), 4)
    assert (verdict.accused, verdict.open) == ([], [])
    assert len(verdict.good) >= 0.99 * simulated.kind.nodes
    assert rounds < 12


def test_nodes_that_always_differ_are_not_named_for_it():
    simulated = Simulated(replace(_FABRIC, bad=0), 5)
    simulated.sends = np.abs(np.random.default_rng(1).normal(0, 0.03, _FABRIC.nodes))
    fabric = simulated.fabric()
    pairs = np.arange(_FABRIC.nodes)
    rounds = [
        simulated.measure(np.random.default_rng(n).permutation(pairs).reshape(-1, 2))
        for n in range(12)
    ]
    assert len(judge(rounds, fabric).open) <= 3


def test_a_node_of_sixteen_that_comes_and_goes_is_a_warning_with_its_figures():
    kind = Kind(8, 2, bad=1, by=(0.5, 0.5), often=0.3)
    simulated, verdict, rounds = looked_at(kind, 2)
    located = Located(simulated.fabric(), verdict, rounds, {}, {}, {})
    assert located.level is Level.WARNING
    (bad,) = simulated.bad
    told = lines(located)
    assert "not cleared; " in told[0]
    assert "no evidence of more than" in told[0]
    assert any(line.startswith(f"not cleared: n{bad} ") for line in told)


def test_a_pair_that_was_slow_and_meets_again_counts_once():
    fabric = Fabric([f"n{node}" for node in range(16)], None)
    schedule = Schedule(fabric, 1, full=True)
    rounds = []
    while (pairs := schedule.next(rounds)) is not None:
        rounds.append(_made(pairs))
    again = next(each.pairs for each in rounds if [0, 1] in np.sort(each.pairs).tolist())
    rounds += [_made(again)] * 5
    assert not {place for each in judge(rounds, fabric).open for place in each.places} & set(
        range(32)
    )


def _made(pairs: Ints) -> Round:
    """Of nodes 0 and 1 the way is half as fast."""
    rate = np.where((np.sort(pairs) == [0, 1]).all(axis=1), 0.5, 1.0)
    rate = rate * np.exp(np.random.default_rng(int(pairs.sum())).normal(0, 0.01, len(pairs)))
    return Round(pairs, np.full(len(pairs), 2e-6) / rate, rate, rate)
