"""Few nodes, in a quiet noise and in that of the testbed; of seeds that nothing was tuned on."""

import numpy as np
import pytest

from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric
from fabricheck.localise.judging import judge
from simulation.few import BOTH, FACTORS, SCATTERS, SENDS, SEVERAL, one_slow, said, several

QUIET, TESTBED = SCATTERS.values()
SEEDS = range(40_000, 40_005)


@pytest.mark.parametrize("factor", (1.0, *FACTORS))
@pytest.mark.parametrize("nodes", [4, 5, 8])
def test_one_slow_node_of_four_or_more_is_named_and_no_other(nodes: int, factor: float) -> None:
    for seed in SEEDS:
        scatter = TESTBED if seed % 3 else QUIET
        found = said(one_slow(nodes, factor, BOTH, scatter, seed), seed)
        assert (found.named, found.false, found.untrusted) == (True, False, False), seed


@pytest.mark.parametrize(
    ("factor", "scatter"),
    [(1.0, QUIET), (1.5, QUIET), (2.0, QUIET), (4.0, QUIET), (1.0, TESTBED), (4.0, TESTBED)],
)
def test_of_three_nodes_the_slow_one_is_named(factor: float, scatter: object) -> None:
    for seed in SEEDS:
        found = said(one_slow(3, factor, BOTH, scatter, seed), seed)  # type: ignore[arg-type]
        assert (found.named, found.false, found.untrusted) == (True, False, False), seed


def test_of_three_nodes_one_that_sends_slowly_is_named() -> None:
    for seed in SEEDS:
        assert said(one_slow(3, 1.5, SENDS, QUIET, seed), seed).named


@pytest.mark.parametrize("faults", SEVERAL)
def test_several_faults_of_eight_nodes_accuse_no_sound_place(faults: str) -> None:
    for seed in SEEDS:
        found = said(several(faults, TESTBED, seed), seed)
        assert (found.false, found.untrusted) == (False, False), seed
        assert found.named or "1 link" in faults, "a link that serves one slow node is that node"


def test_three_nodes_on_two_leaves_are_not_compared() -> None:
    """Of n3 there are only ways across the leaves, which may be slower than those inside one."""

    class Leaves:
        def leaf(self, node: str) -> str:
            return "leaf2" if node == "n3" else "leaf1"

        def path(self, sender: str, receiver: str) -> None:
            del sender, receiver

        def spread(self, leaf: str) -> int:
            del leaf
            return 1

    rounds = []
    for pair, rate in (((0, 1), 2e9), ((0, 2), 1e9), ((1, 2), 1e9)) * 4:
        speed = np.array([rate])
        rounds.append(Round(np.array([pair]), np.array([1e-6]), speed, speed * 1.01))
    assert not judge(rounds, Fabric(["n1", "n2", "n3"], Leaves())).accused
    assert judge(rounds, Fabric(["n1", "n2", "n3"])).accused
