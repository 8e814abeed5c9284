"""Runs over one port each of the same nodes: the card is accused, or the node where all are."""

from types import SimpleNamespace

import pytest

from fabricheck.localise.located import cards
from fabricheck.programs.pair_health import launch

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


def test_each_port_is_a_case(monkeypatch):
    monkeypatch.setattr(launch, "offered_ports", lambda: PORTS)
    found = launch.cases("pair_health")
    plain = [case for case in found if not case.placement.port]
    alone = [case for case in found if case.placement.port]
    assert {case.placement.transport.name for case in alone} == {"rc"}
    assert [case.placement.port for case in alone] == list(PORTS)
    monkeypatch.setattr(launch, "offered_ports", tuple)
    assert launch.cases("pair_health") == plain
