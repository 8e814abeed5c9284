"""Sums whose messages are late, as `lab/simulate allreduce` makes them."""

import json

import numpy as np
import pytest
from tests.lab.made import simulate

from simulation import allreduce

NONE = allreduce.Delays(np.random.default_rng(1), 0.0, median=0.0)


@pytest.mark.parametrize("ranks", [4, 8, 64])
def test_without_delays_every_scheme_takes_what_its_bytes_take(ranks: int):
    """A rank of each sends 2 (N-1)/N of the vector, but that of 2D TAR, which goes back as well."""
    for scheme in (allreduce.ring, allreduce.bcube, allreduce.tar):
        assert scheme(NONE, 3, ranks) == pytest.approx([1.0] * 3)
    groups = 2
    members = ranks // groups
    sent = 2 * (members - 1) + groups - 1
    idle = ranks / (2 * (ranks - 1)) / members * sent
    assert allreduce.tar_2d(NONE, 3, ranks, groups) == pytest.approx([idle] * 3)


def test_each_dependent_round_waits_for_its_delay():
    """All messages one idle ring late: 6 rounds of 4 ranks in a ring, 4 by halves."""
    late = allreduce.Delays(np.random.default_rng(1), 0.0, median=1.0)
    assert allreduce.ring(late, 2, 4) == pytest.approx([7.0] * 2)
    assert allreduce.bcube(late, 2, 4) == pytest.approx([5.0] * 2)


def test_a_bound_is_kept_and_what_comes_after_it_is_lost():
    come = (np.array([[[0.5, 0.5, 2.0]]]), np.array([[[0.5, 0.6, 0.7]]]))
    times, lost = allreduce.bounded(come, 1.0)
    assert times == pytest.approx([1.7])
    assert lost == pytest.approx(1 / 6)
    times, lost = allreduce.bounded(come, 3.0)
    assert (times.tolist(), lost) == ([2.7], 0.0)


def test_the_table_follows_from_its_seed_and_rings_have_the_tail(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(allreduce, "RANKS", (4, 8))
    first, again = (
        simulate("allreduce", "--sums", "200", "--seed", "5", "--json").stdout for _ in range(2)
    )
    assert first == again
    rows = json.loads(first)["sums whose messages are late"]
    assert [(each["p99/p50"], each["ranks"]) for each in rows] == [
        (tail, ranks) for tail in (1.5, 3.0) for ranks in (4, 8)
    ]
    assert all(float(each["bounded"]) < float(each["ring"]) for each in rows)
