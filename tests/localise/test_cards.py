"""Runs over one port each of the same nodes: the card is accused, or the node where all are."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import pytest
from tests.localise.made import kept

from fabricheck.judge.levels import Level
from fabricheck.localise.located import cards, findings, locate
from fabricheck.localise.rails import slow_rails
from fabricheck.programs.pair_health import launch
from simulation.pairs import RATE, Kind, Simulated

PORTS = tuple(f"mlx5_{number}:1" for number in range(4))


def runs(bad: dict[str, tuple[str, ...]]) -> list:
    return [(port, SimpleNamespace(bad=list(bad.get(port, ())))) for port in PORTS]


@pytest.mark.parametrize("slow", PORTS)
def test_one_card_of_a_node_is_named(slow):
    assert cards(runs({slow: ("c017",)})) == [f"c017: card {slow}; its 3 others are not accused"]


def test_several_cards_and_all_of_them():
    bad = dict.fromkeys(PORTS, ("c001",)) | {PORTS[0]: ("c001", "c017"), PORTS[3]: ("c001", "c017")}
    assert cards(runs(bad)) == [
        "c001: all 4 cards: the node itself",
        "c017: cards mlx5_0:1, mlx5_3:1; its 2 others are not accused",
    ]
    assert cards(runs({})) == []


def over(port_factors: dict[str, dict[tuple[str, str], float]], nodes: tuple[str, ...]) -> list:
    """Runs over each port, with the rates of ways that are not 1."""
    ways = [*permutations(nodes, 2)]
    return [
        (port, SimpleNamespace(bad=[], rates=dict.fromkeys(ways, 1.0) | port_factors.get(port, {})))
        for port in PORTS
    ]


@pytest.mark.parametrize("slow", PORTS)
def test_of_two_nodes_the_port_that_is_slower_than_the_others_is_named(slow):
    (told,) = slow_rails(over({slow: {("a", "b"): 0.25}}, ("a", "b")))
    place = f"card {slow} of a or of b, or the cable between"
    assert told == f"{place}; a to b at 0.25x the rate of 3 other ports"
    both = {("a", "b"): 0.25, ("b", "a"): 0.5}
    (told,) = slow_rails(over({slow: both}, ("a", "b")))
    assert told.startswith(f"{place}; a to b and b to a at ")


def test_of_three_nodes_the_card_or_all_cards_of_a_port():
    nodes = ("a", "b", "c")
    one = {("a", "b"): 0.3, ("a", "c"): 0.3, ("b", "a"): 0.3}
    (told,) = slow_rails(over({PORTS[2]: one}, nodes))
    assert told == f"card {PORTS[2]} of a; 3 of 6 ways at 0.3x the rate of 3 other ports"
    whole = dict.fromkeys(permutations(nodes, 2), 0.3)
    (told,) = slow_rails(over({PORTS[2]: whole}, nodes))
    assert told.startswith(f"port {PORTS[2]}: several cards, or their switch; 6 of 6 ways at 0.3x")
    named = over({PORTS[2]: one}, nodes)
    named[2][1].bad.append("a")
    assert slow_rails(named) == []


def test_a_node_with_a_dead_port_is_compared_over_its_others():
    found = over({PORTS[0]: {("c", "a"): 0.3}}, ("a", "b", "c"))
    found[3][1].rates = dict.fromkeys(permutations(("a", "b"), 2), 1.0)
    (told,) = slow_rails(found)
    assert told.startswith(f"card {PORTS[0]} of a or of c")
    assert told.endswith("of 2 other ports")


def test_ports_alike_are_not_accused():
    assert slow_rails(over({}, ("a", "b"))) == []
    assert slow_rails(over({port: {("a", "b"): 0.3} for port in PORTS}, ("a", "b"))) == []
    assert slow_rails(over({PORTS[0]: {("a", "b"): 0.85}}, ("a", "b"))) == []
    scattered = {PORTS[0]: {("a", "b"): 0.6}, PORTS[1]: {("a", "b"): 1.5}}
    assert slow_rails(over(scattered, ("a", "b"))) == []
    assert slow_rails(over({PORTS[0]: {("a", "b"): 0.3}}, ("a", "b"))[:2]) == []


def test_two_nodes_over_one_port_are_judged_by_the_other_ports(tmp_path):
    pair = Simulated(Kind(leaves=1, hosts=2, bad=0), seed=1)
    alone = locate(kept(pair, tmp_path / "alone"))
    assert alone.level is Level.UNTRUSTED
    found = locate(kept(pair, tmp_path / "port", port=PORTS[0]))
    assert found.level is Level.NO_REFERENCE
    assert set(found.rates) == {("n0", "n1"), ("n1", "n0")}
    assert found.rates["n0", "n1"] == pytest.approx(RATE, rel=0.2)
    dead = replace(found, dead={"n2": PORTS[0]})
    assert (dead.level, dead.bad) == (Level.CRITICAL, ["n2"])
    assert findings(found) == ["two nodes: fabricheck locate compares this port with their others"]


def test_each_port_is_a_case(monkeypatch):
    monkeypatch.setattr(launch, "offered_ports", lambda: PORTS)
    found = launch.cases("pair_health")
    plain = [case for case in found if not case.placement.port]
    alone = [case for case in found if case.placement.port]
    assert {case.placement.transport.name for case in alone} == {"rc"}
    assert [case.placement.port for case in alone] == list(PORTS)
    monkeypatch.setattr(launch, "offered_ports", tuple)
    assert launch.cases("pair_health") == plain
