"""Who is slow, of rounds that were made up: schedules, evidence, verdict."""

import io
from collections.abc import Callable

import numpy as np
import pytest

from fabricheck.errors import FabricheckError
from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.judging import LocationVerdict, judge
from fabricheck.localise.schedules import Schedule
from fabricheck.localise.steer import parse_line, steer
from fabricheck.trend.robust import Array, Flags
from simulation.pairs import Kind, Simulated


def run(
    simulated: Simulated, seed: int = 7, *, full: bool = False
) -> tuple[list[Round], LocationVerdict]:
    fabric = simulated.fabric()
    schedule = Schedule(fabric, seed, full=full)
    rounds: list[Round] = []
    while (pairs := schedule.next(rounds)) is not None:
        rounds.append(simulated.measure(pairs))
    return rounds, judge(rounds, fabric)


def named(verdict: LocationVerdict) -> set[str]:
    return {name for each in verdict.accused for name in each.names}


@pytest.mark.parametrize(
    "kind",
    [
        Kind(32, 32, bad=6),
        Kind(32, 32, bad=6, heavy=True),
        Kind(1, 4, bad=1),
        Kind(1, 7, bad=2),
        Kind(4, 2, 2, bad=1),
        Kind(16, 16, 16, bad=3, links=4),
    ],
    ids=lambda kind: f"{kind.nodes}-{kind.links}",
)
def test_each_slow_place_is_named_and_no_other(kind: Kind) -> None:
    simulated = Simulated(kind, 3)
    rounds, verdict = run(simulated)
    assert named(verdict) == simulated.truth()
    assert not verdict.untrusted
    assert len(rounds) <= 12


def test_a_link_alike_is_not_named_beside_a_node_at_fault_anyway() -> None:
    """Nearly all that n5 receives passes spine1->leaf2, and noise hides what does not."""
    simulated = Simulated(Kind(4, 2, 2, bad=1, noise=0.05, heavy=True), 880024)
    simulated.sends[simulated.bad] = simulated.receives[simulated.bad] = 1.8
    _, verdict = run(simulated, 24)
    assert named(verdict) == {"n5 sends", "n5 receives"}
    assert verdict.bad.tolist() == [5]


@pytest.mark.parametrize("seed", [18, 66, 140])
def test_what_is_normal_across_leaves_is_not_taken_from_inside_them(seed: int) -> None:
    """One bad test inside a leaf, of the few that there are, made all ways across it slow."""
    noise = 0.1 if seed == 18 else 0.05
    simulated = Simulated(
        Kind(4, 2, 2, bad=1, noise=noise, heavy=True, by=(0.8, 0.9)), 880000 + seed
    )
    simulated.sends[simulated.bad] = 1.8 if seed == 18 else 0
    simulated.receives[simulated.bad] = 1.8
    _, verdict = run(simulated, seed)
    assert {name.split()[0] for name in named(verdict)} == {f"n{simulated.bad[0]}"}


@pytest.mark.parametrize("nodes", [2, 3, 4, 8, 50])
def test_a_healthy_fabric_accuses_nobody(nodes: int) -> None:
    for seed in range(5):
        _, verdict = run(Simulated(Kind(1, nodes, bad=0, heavy=True), seed), seed)
        assert named(verdict) == set()


def test_a_leaf_that_is_congested_in_all_rounds_accuses_none_of_its_nodes() -> None:
    simulated = Simulated(Kind(32, 32, bad=3, correlated=True), 5)
    simulated.from_round, simulated.until_round = 0, 99
    _, verdict = run(simulated)
    assert named(verdict) == simulated.truth()
    assert verdict.open, "what the nodes of the leaf share is not cleared"


def test_with_leaves_known_the_leaf_itself_is_named() -> None:
    simulated = Simulated(Kind(16, 16, 16, bad=0, correlated=True), 5)
    simulated.from_round, simulated.until_round = 0, 99
    _, verdict = run(simulated)
    leaf = simulated.congested
    assert named(verdict) == {f"leaf{leaf} up", f"leaf{leaf} down"}


def test_a_leaf_that_is_congested_for_a_while_accuses_no_link_of_it() -> None:
    # From the fifth round on. One of its links was not used before, and so was always slow.
    simulated = Simulated(Kind(32, 32, 32, bad=4, links=3, heavy=True, correlated=True), 2)
    _, verdict = run(simulated, 2)
    assert named(verdict) == simulated.truth()
    leaf = f"leaf{simulated.congested} "
    assert any(each.names[0].startswith(leaf) for each in verdict.open)


class Flows(Simulated):
    """A fabric in which flows choose their way: of each pair always the same, but unknown."""

    def path(self, sender: str, receiver: str) -> None:
        del sender, receiver

    def spread(self, leaf: str) -> int:
        del leaf
        return self.kind.spines


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [Kind(4, 2, 2, bad=0), Kind(16, 16, 4, bad=2)], ids=str)
def test_one_of_the_links_that_flows_choose_is_named_by_its_leaf(kind: Kind, seed: int) -> None:
    simulated = Flows(kind, seed)
    simulated.links[0, 1, 1] = 1.5
    _, verdict = run(simulated, seed)
    assert named(verdict) == (simulated.truth() - {"leaf1->spine1"}) | {"leaf1 up"}


class Acknowledged(Simulated):
    """A fabric in which what is sent waits for its acknowledgements."""

    def _slow(self, sender: Ints, receiver: Ints) -> Array:
        return np.maximum(super()._slow(sender, receiver), super()._slow(receiver, sender))


@pytest.mark.parametrize("seed", range(3))
def test_whose_acknowledgements_pass_an_accused_link_is_not_accused(seed: int) -> None:
    simulated = Acknowledged(Kind(4, 2, 2, bad=0), seed)
    simulated.links[:, 3, 0] = 1.5
    _, verdict = run(simulated, seed)
    assert named(verdict) == simulated.truth() | {"leaf3->spine0", "spine0->leaf3"}
    assert verdict.open == []


def named_with(slow: Callable[[Ints], Flags]) -> set[str]:
    """What is named of eight nodes where tests from SENDER to RECEIVER carry half."""
    simulated = Simulated(Kind(1, 8, bad=0), 2)
    fabric = simulated.fabric()
    schedule = Schedule(fabric, 4)
    rounds: list[Round] = []
    while (pairs := schedule.next(rounds)) is not None:
        measured = simulated.measure(pairs)
        measured.there[slow(pairs)] /= 2
        measured.back[slow(pairs[:, ::-1])] /= 2
        rounds.append(measured)
    return named(judge(rounds, fabric))


def test_a_pair_alone_is_named_where_all_pairs_are_measured() -> None:
    assert named_with(lambda ways: np.asarray((ways == [2, 5]).all(axis=1))) == {"n2->n5"}


def test_a_pair_of_an_accused_node_is_no_place_of_its_own() -> None:
    def slow(ways: Ints) -> Flags:
        return np.asarray((ways[:, 1] == 7) | (ways == [7, 2]).all(axis=1))

    assert named_with(slow) == {"n7 receives"}


def test_two_nodes_tell_nothing() -> None:
    fabric = Fabric(["n1", "n2"])
    pairs = np.array([[0, 1]])
    slow = Round(pairs, np.array([1e-6]), np.array([1e9]), np.array([1e8]))
    assert "found 2 of 2" in judge([slow] * 6, fabric).untrusted


def test_places_with_the_same_evidence_are_one_verdict() -> None:
    # Without a round inside the leaf, a link down that serves one node is that node's receiving.
    simulated = Simulated(Kind(8, 4, 4, bad=0, links=0), 6)
    simulated.links[1, 2, 1] = 0.5
    fabric = simulated.fabric()
    random = np.random.default_rng(1)
    rounds = []
    for _ in range(8):
        leaves = random.permutation(8)
        one, other = (random.permutation(4)[None, :] + 4 * half[:, None]
                      for half in (leaves[:4], leaves[4:]))  # fmt: skip
        rounds.append(simulated.measure(np.column_stack([one.ravel(), other.ravel()])))
    (found,) = judge(rounds, fabric).accused
    assert set(found.names) == {"n9 receives", "spine1->leaf2"}


def test_all_nodes_measure_in_every_round_and_meet_others() -> None:
    simulated = Simulated(Kind(1, 101, bad=2), 1)
    rounds, _ = run(simulated, full=True)
    assert len(rounds) == 101
    assert all(len(np.unique(each.pairs)) == 100 for each in rounds)
    met = {tuple(sorted(pair)) for each in rounds for pair in each.pairs.tolist()}
    assert len(met) == 101 * 100 // 2


def test_steering_answers_each_line_and_ends() -> None:
    simulated = Simulated(Kind(1, 4, bad=0), 1)
    out = io.StringIO()

    def lines() -> object:
        yield "n0 n1 n2 n3\n"
        while True:
            words = out.getvalue().splitlines()[-1].split()
            measured = simulated.measure(np.array(words, dtype=int).reshape(-1, 2))
            columns = (*measured.pairs.T, measured.latency, measured.there, measured.back)
            yield " ".join(f"{value:.9g}" for each in zip(*columns, strict=True) for value in each)

    steer(lines(), out, None)  # type: ignore[arg-type]
    *pairs, last = out.getvalue().splitlines()
    assert last == "end"
    assert len(pairs) >= 5
    assert all(sorted(map(int, line.split())) == [0, 1, 2, 3] for line in pairs)


@pytest.mark.parametrize("line", ["", "0 1 2", "0 1 1e-6 1e9 x", "0 9 1e-6 1e9 1e9", "0 1 0 1 1"])
def test_a_line_that_is_no_round_is_refused(line: str) -> None:
    with pytest.raises(FabricheckError, match="expected"):
        parse_line(line, 4)


def test_noise_that_hides_half_of_the_bandwidth_is_not_good() -> None:
    _, verdict = run(Simulated(Kind(1, 8, bad=0, noise=0.4), 3))
    assert "slow nodes cannot be determined: bandwidths scatter by" in verdict.untrusted
