"""Several RDMA devices of each of the guest's nodes: names, cables and addresses."""

import pytest

from fabricheck_testbed import layout
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest.devices import MAX_CARDS, cable, device, gid_address
from fabricheck_testbed.guest.settings import Settings
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import make_wish


def test_each_cable_joins_cards_of_one_number_and_is_a_subnet() -> None:
    ends = [[cable(node, card) for node in ("rx1", "rx2")] for card in range(3)]
    assert ends == [["v0", "v1"], ["v2", "v3"], ["v4", "v5"]]
    assert [device("rx2", card) for card in range(3)] == ["rxe1", "rxe3", "rxe5"]
    assert [gid_address(end) for end in ends[0]] == ["fe80::0:a/64", "fe80::0:b/64"]
    assert [gid_address(end) for end in ends[2]] == ["fe80::2:a/64", "fe80::2:b/64"]


def test_more_nodes_have_names_and_addresses_of_their_own() -> None:
    every = [cable(node, card) for node in layout.GUEST_NODES for card in range(MAX_CARDS)]
    assert len(set(every)) == len(set(map(gid_address, every))) == len(every)
    rail = [gid_address(cable(node, 2)) for node in layout.GUEST_NODES]
    assert rail == [f"fe80::2:{host}/64" for host in "abcd"]
    assert device("rx3", 1) == "rxe18"
    with pytest.raises(TestbedError, match="--rdma-nodes 5: expected 2 to 4"):
        make_wish(None, None, (), rdma_nodes=5)


def test_as_many_cards_as_there_may_be() -> None:
    assert make_wish(None, None, (), cards=8).cards == 8
    with pytest.raises(TestbedError, match="--cards 9: expected 1 to 8"):
        make_wish(None, None, (), cards=9)


def test_nodes_with_several_cards_are_a_partition_of_its_own(tmp_path) -> None:
    files = Layout(tmp_path)
    files.etc.mkdir()
    assert layout.partitions(files) == ["main"]
    for cards, partition in ((1, "rdma"), (4, "cards")):
        Settings({}, {}, "", "", cards).save(files.guest_settings)
        assert layout.partitions(files) == ["main", partition]
