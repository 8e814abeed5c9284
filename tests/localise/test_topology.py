import pytest

from fabricheck.errors import FabricheckError
from fabricheck.localise.topology import (
    Topology,
    as_json,
    flows_for_paths,
    from_json,
    nodes_in,
)
from fabricheck_testbed import fabric

BY_DESTINATION = from_json(fabric.topology(fabric.LEAF_SPINE_LFT, 8))
BY_FLOW = from_json(fabric.topology(fabric.LEAF_SPINE, 8))


def test_a_forwarding_table_gives_the_way() -> None:
    assert BY_DESTINATION.path("n1", "n5") == ("leaf1->spine1", "spine1->leaf3")
    assert BY_DESTINATION.path("n1", "n6") == ("leaf1->spine2", "spine2->leaf3")
    assert BY_DESTINATION.path("n1", "n2") == ()
    assert BY_DESTINATION.leaf("n8") == "leaf4"


def test_where_flows_choose_or_a_node_is_unknown_there_is_no_one_way() -> None:
    assert BY_FLOW.path("n1", "n5") is None
    assert BY_FLOW.path("n1", "n2") == ()
    assert BY_FLOW.path("n1", "n99") is None


def test_a_single_spine_needs_no_table() -> None:
    one = Topology({"a": "l1", "b": "l2"}, {"l1": ("s",), "l2": ("s",)})
    assert one.path("a", "b") == ("l1->s", "s->l2")


def test_tables_are_followed_through_three_levels() -> None:
    tables = {"l1": {"b": "s1"}, "s1": {"b": "core"}, "core": {"b": "s2"}, "s2": {"b": "l2"}}
    far = Topology({"a": "l1", "b": "l2"}, {"l1": ("s1", "x"), "l2": ("s2", "y")}, tables)
    assert far.path("a", "b") == ("l1->s1", "s1->core", "core->s2", "s2->l2")


def test_tables_that_lead_in_a_circle_give_no_way() -> None:
    tables = {"l1": {"b": "s1"}, "s1": {"b": "l1"}}
    assert Topology({"a": "l1", "b": "l2"}, {}, tables).path("a", "b") is None


@pytest.mark.parametrize("topology", [BY_FLOW, BY_DESTINATION])
def test_json_and_back(topology: Topology) -> None:
    assert from_json(as_json(topology)) == topology
    assert from_json({"format": 1, **as_json(topology)}) == topology


def test_people_may_write_ranges() -> None:
    found = from_json({"leaves": {"leaf1": "n[1-2]", "leaf2": ["n3"]}, "spines": {"leaf1": "s1"}})
    assert found.leaves == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}
    assert found.spines == {"leaf1": ("s1",)}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "a topology: expected names and values"),
        ({}, "expected the key leaves"),
        ({"format": 2, "leaves": {}}, "expected a topology of format 1, found 2: write it again"),
        ({"format": [], "leaves": {}}, "expected a topology of format 1, found []"),
        ({"leaf": {}}, "unknown key 'leaf': known are leaves, spines, routes"),
        ({"leaves": {"a": 3}}, "leaves > a: expected a list of names, found 3"),
        ({"leaves": {"a": "n1", "b": "n1"}}, "leaves: n1 is at a and at b"),
        ({"leaves": {"a": "n[1-"}}, "expected node names such as"),
        ({"leaves": {}, "routes": {"a": []}}, "routes > a: expected names and values"),
        ({"leaves": {"a": "n[1-999999999]"}}, "expected at most 200000 nodes"),
        ({"leaves": {"a": f"n[1-{'9' * 5000}]"}}, "expected at most 200000 nodes"),
        ({"leaves": {"a": "n[1-9999][1-9999]"}}, "expected at most 200000 nodes"),
    ],
)
def test_what_is_no_topology_is_told(value: object, complaint: str) -> None:
    with pytest.raises(FabricheckError) as error:
        from_json(value)
    assert complaint in str(error.value)


def test_what_is_unknown_is_said() -> None:
    assert list(BY_DESTINATION.unknown(nodes_in("n[1-8]"))) == []
    (routes,) = BY_FLOW.unknown()
    assert routes.startswith("the routes of leaf[1-4] are unknown (flows choose")
    (missing,) = BY_DESTINATION.unknown(nodes_in("n[7-9]"))
    assert missing.startswith("the leaf of n9 is unknown")
    lone, bare = Topology({"n1": "leaf1"}, doubts=()).unknown()
    assert lone == "leaf1 has one node only: node and leaf cannot be separated there"
    assert bare == "the switches above the leaves are unknown: no link of a leaf can be named"
    half = Topology({"a": "l1", "b": "l1", "c": "l2", "d": "l2"}, {"l1": ("s",)})
    assert list(half.unknown()) == ["the switches above l2 are unknown: their links have no names"]


@pytest.mark.parametrize(("paths", "missed"), [(2, 0.01), (8, 0.01), (16, 0.01), (32, 0.001)])
def test_so_many_flows_miss_no_path_as_promised(paths: int, missed: float) -> None:
    # Exactly, by inclusion and exclusion; no bound.
    from math import comb

    flows = flows_for_paths(paths, missed)
    chance = sum(
        (-1) ** (k + 1) * comb(paths, k) * (1 - k / paths) ** flows for k in range(1, paths + 1)
    )
    assert 0 < chance <= missed
    few = flows * 2 // 3
    assert paths * (1 - 1 / paths) ** few > missed, "two thirds of them promise less"
