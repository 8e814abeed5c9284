"""Placements are what the sites offer."""

import pytest

from fabricheck.launch import cases as module
from fabricheck.launch.cases import Case, available_placements, cases
from fabricheck.programs.osu.ratio import LatencyRatio
from fabricheck.reframe_ext import case as checks
from fabricheck.sites.files import offers
from fabricheck.transports.placement import Placement

SITES = (
    frozenset({"tcp", "shm", "nodes_1", "nodes_2", "nodes_12"}),
    frozenset({"rdma", "nodes_2", "nodes_4", "full_nodes"}),
)


@pytest.fixture
def two_sites(monkeypatch):
    monkeypatch.setattr(module, "offers", lambda: SITES)


def test_a_site_with_more_nodes_gets_cases_for_them(two_sites):
    assert {name for name in available_placements() if name.startswith("tcp")} == {
        "tcp-2n",
        "tcp-12n",
    }


def test_a_case_that_no_site_could_run_is_not_made(two_sites):
    made = available_placements()
    assert "rc-4n" in made
    assert "tcp-4n" not in made
    assert not any(name.startswith("auto") for name in made)


def test_nodes_are_bounded_as_the_check_says(two_sites):
    assert {Placement.read(name).num_nodes for name in available_placements(max_nodes=2)} == {1, 2}
    assert {Placement.read(name).num_nodes for name in available_placements(min_nodes=2)} == {
        2,
        4,
        12,
    }


def test_all_cores_where_a_site_offers_them(two_sites):
    assert {name for name in available_placements(layout="full") if name.startswith("rc-")} == (
        {"rc-2n-full", "rc-4n-full"}
    )
    assert not any(name.startswith("tcp") for name in available_placements(layout="full"))


def test_a_check_always_has_a_case(monkeypatch):
    monkeypatch.setattr(module, "offers", lambda: (frozenset({"health"}),))
    assert len(available_placements()) == len(available_placements(layout="full")) == 1


def test_the_shipped_sites_offer_what_the_testbed_has():
    assert {"tcp-2n", "tcp-4n", "shm-1n", "rc-2n"} <= set(available_placements())
    assert all(isinstance(features, frozenset) for features in offers())


@pytest.mark.parametrize("lacks", ["+rdma", "+spack"])
def test_of_the_cases_only_those_are_made_that_the_system_can_have(monkeypatch, lacks):
    """Either by its partitions or by its environments."""
    monkeypatch.setattr(checks, "offered", lambda *wanted: lacks not in str(wanted))
    found = cases(["latency"], ["tcp-2n", "rc-2n", "tcp-4n"])
    others = cases(["get_bw"], ["tcp-2n"])
    ratio = Case("transport_order", "rc-2n")
    expected = [found[0], found[2], *others] if lacks == "+rdma" else found
    assert checks.possible([*found, *others, ratio]) == [*expected, ratio]


def test_a_ratio_is_made_where_the_system_can_have_both_sides(monkeypatch):
    monkeypatch.setattr(checks, "offered", lambda systems, _: "+rdma" not in " ".join(systems))
    found = [Case("of", "tcp-2n"), Case("of", "tcp-4n")]
    sides = {
        found[0]: LatencyRatio(Case("latency", "tcp-2n"), Case("latency", "rc-2n"), (8, 8)),
        found[1]: LatencyRatio(Case("latency", "tcp-4n"), Case("latency", "shm-1n"), (8, 8)),
    }
    assert checks.possible(found, sides.get) == [found[1]]


def test_a_check_of_which_the_system_can_have_nothing_has_a_case(monkeypatch):
    found = cases(["latency"], ["tcp-2n", "rc-2n"])
    monkeypatch.setattr(checks, "offered", lambda *_: False)
    assert checks.possible(found) == found[:1]


def test_without_a_system_every_case_is_made():
    found = cases(["latency"], ["tcp-2n", "rc-2n"])
    assert checks.possible(found) == found
