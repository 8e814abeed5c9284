"""Whose turn it is: idle nodes that waited longest, of the leaves that a placement names."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.refusals import refused

from fabricheck.reframe_ext import rota as rotas
from fabricheck.reframe_ext.rota import ROTA, Rota, asked_of, has_groups, leaves_of, misplaced
from fabricheck.transports.placement import Placement

LEAVES = {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}
PLAIN, LEAF, SPINE = map(Placement.read, ("tcp-2n", "tcp-2n-leaf", "tcp-2n-spine"))
Ask = Callable[..., list[str]]


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Rota:
    monkeypatch.delenv(ROTA, raising=False)
    made = Rota()
    monkeypatch.setattr(rotas, "TURNS", made)
    return made


@pytest.fixture
def ask(turns: Rota, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """What a case asks for on a partition of four nodes, of which some are idle."""

    def asked(place: Placement, idle: str = "n1 n2 n3 n4", **scheduler: Any) -> list[str]:
        nodes = [SimpleNamespace(name=name) for name in LEAVES]
        monkeypatch.setattr(rotas, "nodes_of", lambda _: nodes)
        monkeypatch.setattr(
            rotas, "nodes_in_state", lambda *_: [each for each in nodes if each.name in idle]
        )
        monkeypatch.setattr(rotas, "leaves_of", lambda _: LEAVES)
        given = {"registered_name": "squeue"} | scheduler
        job = SimpleNamespace(scheduler=SimpleNamespace(**given))
        return asked_of(job, SimpleNamespace(name="main", extras={}), place)

    return asked


def night(place: Path, monkeypatch: pytest.MonkeyPatch, **last: str) -> None:
    """Say when nodes were measured last."""
    (place / "turns").write_text(json.dumps({"every": 3, "last": last}))
    monkeypatch.setenv(ROTA, str(place / "turns"))


def test_a_night_asks_for_the_idle_nodes_that_waited_longest(
    turns: Rota, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(tmp_path, monkeypatch, n1="2026-11-03", n2="2026-11-02", n4="2026-11-01")
    # n3 never was, and is busy: it is not waited for.
    assert ask(PLAIN, idle="n1 n2 n4") == ["n4", "n2"]
    assert turns.stated["main"] == {
        "nodes": ["n1", "n2", "n3", "n4"], "busy": ["n3"], "chosen": ["n2", "n4"],
    }  # fmt: skip
    assert ask(PLAIN, idle="n1 n3 n4") == ["n3", "n1"]
    assert ask(PLAIN, idle="n3") == []


def test_without_a_site_that_asks_the_scheduler_chooses(ask: Ask, turns: Rota) -> None:
    assert ask(PLAIN) == []
    assert ask(PLAIN, registered_name="local") == []
    assert turns.stated == {}


def test_an_allocation_gives_its_own_nodes_first(ask: Ask) -> None:
    assert ask(LEAF, held_nodes=lambda: ("n1", "n3", "n4")) == ["n3", "n4"]
    assert ask(LEAF, held_nodes=lambda: ("n1", "n3")) == ["n1", "n2"]
    assert ask(PLAIN, held_nodes=lambda: ("n1", "n3")) == []


def test_nodes_of_one_leaf_and_of_two(ask: Ask) -> None:
    assert ask(LEAF) == ["n1", "n2"]
    assert ask(LEAF) == ["n3", "n4"]
    pair = ask(SPINE)
    assert {LEAVES[node] for node in pair} == {"leaf1", "leaf2"}


@pytest.mark.parametrize(("place", "idle"), [(LEAF, "n1 n3"), (SPINE, "n3 n4"), (LEAF, "")])
def test_where_no_idle_nodes_fit_the_case_says_so(ask: Ask, place: Placement, idle: str) -> None:
    with refused("FC3301", f"{place}.*{idle and 'n'}"):
        ask(place, idle=idle)
    with refused("FC3301"):
        ask(place, registered_name="local")


@pytest.mark.parametrize(
    ("place", "hosts", "wrong"),
    [
        (PLAIN, ("n1", "n9"), ""),
        (LEAF, ("n1", "n2"), ""),
        (SPINE, ("n1", "n3"), ""),
        (LEAF, ("n1", "n3"), "at 1 leaf switch, found n1 at leaf1, n3 at leaf2"),
        (SPINE, ("n1", "n2"), "at 2 leaf switches, found n1 at leaf1, n2 at leaf1"),
        (LEAF, ("n8", "n9"), "n8 at unknown"),
        (SPINE, ("n1", "n9"), "n9 at unknown"),
        (LEAF, (), "found no hosts"),
    ],
)
def test_a_case_on_other_nodes_than_its_placement_says_is_not_believed(
    place: Placement, hosts: tuple[str, ...], wrong: str
) -> None:
    found = misplaced(place, hosts, LEAVES)
    assert bool(found) == bool(wrong)
    assert wrong in "".join(found)


def test_groups_need_two_leaves_and_one_with_two_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert has_groups(LEAVES)
    assert not has_groups(dict.fromkeys(LEAVES, "leaf1"))
    assert not has_groups({"n1": "leaf1", "n2": "leaf2"})
    assert not has_groups(leaves_of(""))
    path = tmp_path / "fabric.topology"
    path.write_text('{"leaves": {"leaf1": "n[1-2]", "leaf2": "n3"}}')
    monkeypatch.setattr(rotas, "topology_of", lambda _: path)
    assert leaves_of("fabric.topology") == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}
    leaves_of.cache_clear()
