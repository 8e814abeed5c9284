import os
import subprocess
from pathlib import Path

import pytest
from tests.fabric.conftest import Grow, take, told

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import CounterPlace
from fabricheck.fabric.ports import EMPTY_GID, Port
from fabricheck.nodes.told import SCRIPT, parse, read_told

pytestmark = pytest.mark.integration

PORT = "sys/class/infiniband/mlx5_0/ports/1"


def port_of(root: Path) -> Port:
    (port,) = take(root).ports.values()
    return port


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("mlx5_roce", ("mlx5_0:1", 100, 4, "EDR", "mlx5_core")),
        ("mlx5_ib", ("mlx5_0:1", 200, 4, "HDR", "mlx5_core")),
        ("bnxt_re", ("bnxt_re0:1", 400, 4, "NDR", "bnxt_en")),
        ("irdma", ("rocep24s0f0:1", 100, 4, "EDR", "ice")),
        ("rxe", ("rxe0:1", 10, 1, "FDR10", "rdma_rxe")),
    ],
)
def test_a_card_is_read(grow: Grow, tree: str, expected: tuple[object, ...]) -> None:
    port = port_of(grow(tree))
    assert (port.name, port.rate, port.width, port.speed, port.driver) == expected
    assert (port.mtu, port.active, port.phys_state) == (4096, True, "LinkUp")


def test_addresses_and_versions(grow: Grow) -> None:
    port = port_of(grow("mlx5_roce"))
    assert port.gids[3].kind == "RoCE v2"
    assert port.gids[4].address == EMPTY_GID
    assert (port.firmware, port.board) == ("22.39.2048", "MT_0000000359")
    assert port.driver_version == "of kernel 6.8.0-45-generic"
    assert port.netdev is not None
    assert (port.netdev.name, port.netdev.mtu, port.netdev.speed) == ("enp33s0f0np0", 9000, 100000)


def test_a_drivers_own_version_counts(grow: Grow) -> None:
    root = grow("mlx5_roce")
    (root / "sys/module/mlx5_core").mkdir(parents=True)
    (root / "sys/module/mlx5_core/version").write_text("24.10-0.7.0\n")
    assert port_of(root).driver_version == "24.10-0.7.0"


def test_counters_of_all_places(grow: Grow) -> None:
    counters = port_of(grow("mlx5_roce")).counters
    assert counters[CounterPlace.COUNTERS, "port_xmit_packets"] == 5_000_000
    assert counters[CounterPlace.HW_COUNTERS, "duplicate_request"] == 3
    assert counters[CounterPlace.ETHTOOL, "rx_packets_phy"] == 6_000_000
    assert counters[CounterPlace.IP, "Ip6InCEPkts"] == 0
    assert counters[CounterPlace.IP, "InECT0Pkts"] == 17
    assert not [name for _, name in counters if name.startswith(("ch0", "rx0", "tx1"))]


def test_names_with_blanks(grow: Grow) -> None:
    counters = port_of(grow("irdma")).counters
    assert (CounterPlace.HW_COUNTERS, "Rcvd Out of order packets") in counters
    assert (CounterPlace.ETHTOOL, "rx_priority_3_xoff.nic") in counters


def test_what_is_not_there_is_not_zero(grow: Grow) -> None:
    ib = port_of(grow("mlx5_ib"))
    assert (CounterPlace.COUNTERS, "port_rcv_switch_relay_errors") not in ib.counters, (
        "N/A (no PMA)"
    )
    assert ib.netdev is None
    root = grow("mlx5_roce")
    for name in (f"{PORT}/rate", "sys/class/net/enp33s0f0np0/mtu", f"{PORT}/link_layer"):
        (root / name).unlink()
    port = port_of(root)
    assert (port.rate, port.width, port.mtu) == (None, None, None)


def test_a_speed_that_the_kernel_does_not_know_is_none(grow: Grow) -> None:
    root = grow("rxe")
    (root / "sys/class/net/v0/speed").write_text("-1\n")
    netdev = port_of(root).netdev
    assert netdev is not None
    assert netdev.speed is None


def test_without_ibv_devinfo_the_mtu_of_infiniband_is_not_known(grow: Grow) -> None:
    root = grow("mlx5_ib")
    (root / "ibv_devinfo").unlink()
    assert port_of(root).mtu is None


def test_a_gid_beyond_the_first_is_told_on_request(grow: Grow) -> None:
    root = grow("mlx5_roce")
    (root / PORT / "gids/42").write_text("fe80::2a\n")
    assert "gids/42:" not in told(root)
    assert "gids/42:fe80::2a" in told(root, FABRICHECK_GID_INDEX="42")


def test_a_node_without_devices_says_so(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/uptime").write_text("17.5 30.0\n")
    snapshot = take(tmp_path)
    assert (snapshot.uptime, dict(snapshot.ports)) == (17.5, {})


def test_soft_roce_on_a_real_card_is_soft_roce(grow: Grow) -> None:
    root = grow("rxe")
    device = root / "sys/class/infiniband/rxe0/device"
    device.mkdir()
    (device / "uevent").write_text("DRIVER=mlx5_core\n")
    assert port_of(root).driver == "rdma_rxe"


def test_this_machine_can_be_read() -> None:
    lines = subprocess.run(
        [SCRIPT, "after", "node", "ports", "adapters", "load"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (snapshot,) = parse(lines, "here")
    assert snapshot.moment == "after"
    assert snapshot.uptime > 0


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_a_snapshot_that_was_cut_is_left_out(grow: Grow, keep: float) -> None:
    text = told(grow("rxe"))
    both = parse(text + text.replace("told before", "told after"), "x")
    assert [snapshot.moment for snapshot in both] == ["before", "after"]
    cut = parse(text + text[: int(len(text) * keep)], "x")
    assert [snapshot.moment for snapshot in cut] == ["before"]


@pytest.mark.parametrize("text", ["sys/x:1\n", "told before n1\nend\n", "\0\n"])
def test_what_is_no_snapshot_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "node.n1"
    path.write_text(text)
    with pytest.raises(FabricheckError, match=r"node\.n1, line 1: expected 'told"):
        read_told(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FabricheckError, match="cannot read the answer of a node"):
        read_told(tmp_path / "node.n1")
