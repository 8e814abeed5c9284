"""Each rule on the state of ports broken once."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.fabric.conftest import later, snapshot_of

from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import EMPTY_GID, Gid
from fabricheck.fabric.state import compare_nodes, judge_state
from fabricheck.judge.levels import Level

pytestmark = pytest.mark.integration

GIDS = Limits(gid_index=3)

Expected = tuple[Level | None, str]


@pytest.mark.parametrize(
    ("tree", "changes", "limits", "expected"),
    [
        ("rxe", {"state": "DOWN", "phys_state": "Disabled"}, Limits(),
         (Level.CRITICAL,
          "link down on n1 rxe0:1: the port was ACTIVE before the run and is DOWN (Dis")),
        ("rxe", {"state": "DOWN", "phys_state": "Polling"}, Limits(),
         (Level.CRITICAL, "look at the cable")),
        ("mlx5_ib", {"state": "INIT", "phys_state": "LinkUp"}, Limits(),
         (Level.CRITICAL, "subnet manager")),
        ("mlx5_ib", {"state": ""}, Limits(), (Level.CRITICAL, "is without state")),
        ("mlx5_roce", {}, Limits(rate=100.0), (None, "")),
        ("mlx5_roce", {"rate": 25.0}, Limits(rate=100.0),
         (Level.CRITICAL, "link rate on n1 mlx5_0:1: 25 Gbit/s, expected 100")),
        ("mlx5_roce", {"rate": None}, Limits(rate=100.0),
         (Level.WARNING, "link rate on n1 mlx5_0:1: not available, expected 100")),
        ("mlx5_ib", {"width": 1}, Limits(), (Level.WARNING, "link width on n1 mlx5_0:1: 1X")),
        ("mlx5_ib", {"width": 2}, Limits(), (None, "a split HDR cable")),
        ("mlx5_ib", {"width": 2, "speed": "EDR"}, Limits(), (Level.WARNING, "2X, expected 4X")),
        ("mlx5_ib", {"width": 2}, Limits(width=4), (Level.CRITICAL, "2X, expected 4X")),
        ("mlx5_roce", {"width": 1}, Limits(), (None, "RoCE has any width")),
        ("mlx5_roce", {"mtu": 1024}, Limits(mtu=4096),
         (Level.CRITICAL,
          "RDMA MTU on n1 mlx5_0:1: 1024 B (enp33s0f0np0 has 9000 B), expected 4096 B")),
        ("mlx5_ib", {"mtu": None}, Limits(mtu=4096), (Level.WARNING, "not available")),
        ("mlx5_roce", {}, GIDS, (None, "")),
        ("mlx5_roce", {}, Limits(gid_index=2),
         (Level.WARNING, "index 2 is of type IB/RoCE v1, which no router forwards")),
        ("mlx5_roce", {}, Limits(gid_index=5),
         (Level.CRITICAL, "GID on n1 mlx5_0:1: index 5 is empty (there are 0: fe80:")),
        ("mlx5_roce", {}, Limits(gid_index=300), (Level.CRITICAL, "index 300 does not exist")),
        ("mlx5_roce", {"gids": {0: Gid(EMPTY_GID, "")}}, Limits(),
         (Level.CRITICAL, "the port has no address")),
        ("mlx5_ib", {}, GIDS, (None, "InfiniBand has no choice of addresses")),
    ],
)  # fmt: skip
def test_each_rule_sees_what_it_guards(
    tmp_path: Path, tree: str, changes: dict[str, object], limits: Limits, expected: Expected
) -> None:
    level, words = expected
    before = snapshot_of(tree, tmp_path)
    findings = list(judge_state(before, later(before, **changes), limits))
    if level is None:
        assert findings == [], words
    else:
        (finding,) = findings
        assert finding.level is level
        assert words in str(finding)


def test_a_node_without_card_is_told(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (finding,) = judge_state(before, replace(before, ports={}), Limits(devices=("mlx5_0:1",)))
    assert str(finding).startswith("RDMA device on n1: there is none")


def test_a_missing_card_is_named_with_what_there_is(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (finding,) = judge_state(before, later(before), Limits(devices=("mlx5_0:1",)))
    assert str(finding).startswith("RDMA device on n1 mlx5_0:1: missing, the node has rxe0:1")


def test_a_link_that_came_and_went_is_told(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (port,) = before.ports.values()
    assert port.netdev is not None
    netdev = replace(port.netdev, carrier_changes=4)
    (finding,) = judge_state(before, later(before, netdev=netdev), Limits())
    assert str(finding).startswith("link flaps on n1 rxe0:1: the link of v0 came or went 2 times")
    down = later(before, state="DOWN")
    (finding,) = judge_state(down, later(down, state="ACTIVE"), Limits())
    assert "was DOWN before the run and came up in it" in str(finding)


def test_a_link_that_went_down_beside_another_is_told(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (port,) = before.ports.values()
    other = replace(port, device="rxe1")
    both = replace(before, ports={port.name: port, other.name: other})
    after = replace(both, ports={port.name: replace(port, state="DOWN"), other.name: other})
    (finding,) = judge_state(both, after, Limits())
    assert "link down on n1 rxe0:1" in str(finding)


def test_a_card_that_came_in_the_run_is_told(tmp_path: Path) -> None:
    after = snapshot_of("rxe", tmp_path)
    (finding,) = judge_state(replace(after, ports={}), after, Limits())
    assert "RDMA device on n1 rxe0:1: was not there before the run" in str(finding)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rate": 50.0}, "different rate: 100 Gbit/s on n1; 50 Gbit/s on n2"),
        ({"mtu": 1024}, "different RDMA MTU: 4096 B on n1; 1024 B on n2"),
        ({"firmware": "22.36.1010"}, "different firmware of MT_0000000359: 22.39.2048 on n1"),
        ({"driver_version": "24.10"}, "different driver: mlx5_core of kernel 6.8.0-45-generic on"),
        ({"firmware": "1.2", "board": "MT_1"}, None),
        ({}, None),
    ],
)
def test_nodes_that_differ_are_told(
    tmp_path: Path, changes: dict[str, object], words: str | None
) -> None:
    one = snapshot_of("mlx5_roce", tmp_path)
    two = replace(later(one, **changes), host="n2")
    findings = list(compare_nodes([one, two, replace(one, host="n1")], Limits()))
    if words is None:
        assert findings == [], "equal, or another card"
    else:
        (finding,) = findings
        assert words in str(finding)
        assert finding.level is Level.WARNING
