import pytest

from fabricheck_testbed import ends, fabric
from fabricheck_testbed.ends import End, of_fabric

NODES = 8
CABLES = fabric.cables(fabric.LEAF_SPINE, NODES)
BOTH = [End("leaf1", "spine2", "220mbit"), End("spine2", "leaf1", "220mbit")]


def test_every_leaf_has_two_nodes_and_a_cable_to_each_spine() -> None:
    assert fabric.nodes_of(5) == {"leaf1": ["n1", "n2"], "leaf2": ["n3", "n4"], "leaf3": ["n5"]}
    assert fabric.routers(fabric.LEAF_SPINE, 3) == ["leaf1", "leaf2", "spine1", "spine2"]
    assert len(CABLES) == 8 + 4 * 2
    assert fabric.routers(fabric.BRIDGE, 8) == fabric.cables(fabric.BRIDGE, 8) == []


def test_no_address_is_given_twice() -> None:
    commands = [
        command
        for host in (*(f"n{n}" for n in range(1, 65)), *fabric.routers(fabric.LEAF_SPINE, 64))
        for command in fabric.setup(host, fabric.LEAF_SPINE, 64)
    ]
    addresses = [command.split()[2] for command in commands if command.startswith("address")]
    assert len(addresses) == len(set(addresses)) == 64 + 32 + 2 * 2 * 32


def test_flows_are_spread_or_each_destination_has_its_spine() -> None:
    by_flow = list(fabric.setup("leaf1", fabric.LEAF_SPINE, NODES))
    assert "nexthop replace id 100 group 1/2" in by_flow
    assert by_flow[-1] == "route replace 10.78.0.0/16 nhid 100"
    by_destination = list(fabric.setup("leaf1", fabric.LEAF_SPINE_LFT, NODES))
    assert by_destination[-2:] == [
        "route replace 10.78.4.7/32 nhid 1",
        "route replace 10.78.4.8/32 nhid 2",
    ]


def test_slurm_is_told_the_tree() -> None:
    assert fabric.topology_conf(4) == (
        "SwitchName=leaf1 Nodes=n1,n2\nSwitchName=leaf2 Nodes=n3,n4\n"
        "SwitchName=spines Switches=leaf1,leaf2\n"
    )


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("leaf1-spine2", BOTH),
        ("spine2-leaf1", BOTH),
        ("leaf1-to-spine2", BOTH[:1]),
        ("spine2-to-leaf1", BOTH[1:]),
        ("n3", [End("leaf2", "n3", "100mbit"), End("n3", "eth0", "100mbit")]),
        ("n3-to-leaf2", [End("n3", "eth0", "100mbit")]),
        ("n1-to-n6", [End("n1", "eth0", "100mbit", "10.78.3.6")]),
    ],
)
def test_a_target_names_the_interfaces_that_send(target: str, meant: list[End]) -> None:
    assert of_fabric(target, NODES, CABLES) == meant


def test_wholes_and_pairs() -> None:
    assert len(of_fabric("leaf1", NODES, CABLES)) == 8
    assert len(of_fabric("spine1", NODES, CABLES)) == 8
    assert len(of_fabric(ends.ALL, NODES, CABLES)) == 2 * len(CABLES)
    assert [end.host for end in of_fabric("n1-n2", NODES, CABLES)] == ["n1", "n2"]


@pytest.mark.parametrize(
    "target", ["n9", "leaf5", "n1-n9", "n1-n1", "n1-leaf2", "spine1-spine2", "login", "", "n1-to-"]
)
def test_what_is_not_there_is_refused(target: str) -> None:
    with pytest.raises(ends.TestbedError, match="expected a node, a leaf or a spine"):
        of_fabric(target, NODES, CABLES)
