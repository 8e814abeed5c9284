from dataclasses import replace
from pathlib import Path

import pytest
from tests.fabric.conftest import TREES, later, risen, snapshot_of

from fabricheck.fabric.job import Node, describe, readings, worst_readings
from fabricheck.fabric.limits import Limits

pytestmark = pytest.mark.integration


def worst(before, after) -> dict[str, float]:
    found = worst_readings(readings([Node(before, after)], Limits()), Limits())
    return {name: value for name, (value, _) in found.items()}


def test_the_worst_of_all_ports_is_recorded(tmp_path: Path) -> None:
    before = snapshot_of("mlx5_roce", tmp_path)
    after = risen(
        before, packet_seq_err=20, out_of_sequence=50, port_xmit_packets=100_000,
        port_rcv_packets=100_000, np_cnp_sent=30, rp_cnp_handled=70, rx_prio3_pause=40,
    )  # fmt: skip
    assert worst(before, after) == {
        "error_ratio": 5e-4, "ce_ratio": 0.0, "ecn_rate": 7.0, "pause_rate": 4.0,
    }  # fmt: skip


def test_what_no_port_can_tell_is_not_recorded(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    assert worst(before, later(before)) == {"ecn_rate": 0.0}
    few = risen(before, rcvd_seq_err=2, sent_pkts=20)
    assert "error_ratio" in worst(before, few), "send_err is a fair zero of 20 packets"
    assert worst(before, few)["error_ratio"] == 0


@pytest.mark.parametrize(
    ("tree", "port", "lacking"),
    [
        ("mlx5_roce", "firmware 22.39.2048 of MT_0000000359", "rx_global_pause"),
        ("mlx5_ib", "ACTIVE, InfiniBand, 200 Gbit/s (4X HDR), RDMA MTU 4096 B, GID 0 fe80:",
         "all of ethtool -S"),
        ("bnxt_re", "400 Gbit/s (4X NDR)", "all of counters"),
        ("irdma", "ice of kernel 6.8.0-45-generic", "all of counters"),
        ("rxe", "over v0 (4200 B), GID 0 fe80:", "all of counters"),
    ],
)  # fmt: skip
def test_ports_are_described(tmp_path: Path, tree: str, port: str, lacking: str) -> None:
    line, missing = describe([snapshot_of(tree, tmp_path)], Limits())
    assert line.startswith("n1 ")
    assert port in line
    assert lacking in missing


def test_every_card_is_in_the_test_above() -> None:
    assert TREES == ["bnxt_re", "irdma", "mlx5_ib", "mlx5_roce", "rxe"]


def test_a_port_that_tells_little_is_described(tmp_path: Path) -> None:
    bare = later(
        snapshot_of("rxe", tmp_path), state="", rate=None, width=None, mtu=None, netdev=None,
        gids={}, driver="", link_layer="",
    )  # fmt: skip
    (line, *_) = describe([bare], Limits(gid_index=1))
    for words in ("state not available", "rate not available", "RDMA MTU not available",
                  "GID 1 empty", "driver unknown"):  # fmt: skip
        assert words in line


def test_equal_lacks_are_one_line(tmp_path: Path) -> None:
    one = snapshot_of("rxe", tmp_path)
    lines = list(describe([one, replace(one, host="n2")], Limits()))
    assert len(lines) == 3
    assert lines[-1] == ("counters not available on n1 rxe0:1, n2 rxe0:1: all of counters")
