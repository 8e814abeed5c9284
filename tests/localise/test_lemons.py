from dataclasses import replace

import numpy as np
import pytest

from fabricheck.localise.lemons import Jobs, lemons
from simulation.lemons import FLEETS, Fleet, _history, _until

PLAIN = Fleet("normal noise")


def jobs_of(*rows: tuple[int, str, float]) -> Jobs:
    """Jobs from night, nodes such as ``ab``, and by how much they were slower."""
    names = sorted({node for _, nodes, _ in rows for node in nodes})
    return Jobs(
        np.array([night for night, _, _ in rows]),
        np.arange("2026-11-01", "2026-11-29", dtype="datetime64[D]").astype("datetime64[s]"),
        np.array([[name in nodes for name in names] for _, nodes, _ in rows]),
        np.array([slower for _, _, slower in rows]),
        names,
    )


def nights(*pairs: str, slow: str = "", by: float = 0.1, first: int = 0, count: int = 6):
    """Each pair once a night; those with a node of ``slow`` are slower."""
    noise = np.random.default_rng(3)
    return [
        (night, pair, (by if set(slow) & set(pair) else 0) + 0.002 * noise.standard_normal())
        for night in range(first, first + count)
        for pair in pairs
    ]


def test_the_node_that_all_slow_jobs_have_is_named_with_its_evidence():
    before = nights("ab", "cd", "ac", "bd", "ad", "bc")
    after = nights("ab", "cd", "ac", "bd", "ad", "bc", slow="b", first=6, count=2)
    (found,) = lemons(jobs_of(*before, *after))
    assert found.nodes == ("b",)
    assert found.slowdown == pytest.approx(np.expm1(0.1), rel=0.05)
    assert str(found.since) == "2026-11-07T00:00:00"
    assert (found.nights, found.jobs, found.slow) == (2, 6, 6)
    assert (found.others, found.others_slow) == (6, 0)


def test_one_night_alone_accuses_nobody():
    rows = [*nights("ab", "cd", "ac", "bd"), *nights("ab", "cd", slow="b", first=6, count=1)]
    assert not lemons(jobs_of(*rows))


def test_nodes_that_always_ran_together_are_named_together():
    rows = [
        *nights("ab", "cd", "ac", "bd"),
        *nights("ab", "cd", "cde", slow="b", first=6, count=3),
    ]
    (found,) = lemons(jobs_of(*rows))
    assert found.nodes == ("a", "b")


def test_two_slow_nodes_are_two():
    pairs = [one + other for one in "abcdef" for other in "abcdef" if one < other]
    rows = [*nights(*pairs), *nights(*pairs, slow="be", first=6, count=3)]
    assert {each.nodes for each in lemons(jobs_of(*rows))} == {("b",), ("e",)}


def test_a_fabric_that_became_slower_accuses_no_node():
    rows = [*nights("ab", "cd", "ac"), *nights("ab", "cd", "ac", slow="abcd", first=6, count=6)]
    assert not lemons(jobs_of(*rows))


def test_a_node_that_recovered_is_cleared():
    pairs = ("ab", "cd", "ac", "bd")
    rows = [
        *nights(*pairs, slow="b", count=3),
        *nights(*pairs, first=3, count=6),
    ]
    assert not lemons(jobs_of(*rows))


def test_a_slowdown_too_small_to_matter_accuses_nobody():
    pairs = ("ab", "cd", "ac", "bd")
    rows = [*nights(*pairs), *nights(*pairs, slow="b", by=0.01, first=6, count=6)]
    assert not lemons(jobs_of(*rows))


def test_nothing_measured_accuses_nobody():
    assert not lemons(replace(jobs_of((0, "a", 0.0)), slower=np.zeros(1)))


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.words)
def test_what_the_table_of_the_documentation_says(fleet: Fleet):
    jobs = _history(fleet, np.random.default_rng(5))
    named = {name for each in lemons(_until(jobs, 44)) for name in each.nodes}
    assert named == ({"0"} if fleet.slow else set())


def test_another_mode_now_and_then_accuses_nobody():
    rows = nights("a", "b", "c", "ab", "bc", count=20)
    # Shared memory of the node is three times slower every fourth night.
    rows = [
        (night, nodes, 40 * slower + (1.2 if nodes == "a" and night % 4 == 0 else 0))
        for night, nodes, slower in rows
    ]
    assert not lemons(jobs_of(*rows))
