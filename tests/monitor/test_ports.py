"""Ports: one name for a thing, whatever its driver calls it, and what was there is known."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.fabric.conftest import TREES
from tests.monitor.conftest import ROOT, Tree, promtool, values

from fabricheck.cli.metrics import script as write_script
from fabricheck.errors import FabricheckError
from fabricheck.monitor.exposition import PLAIN, render
from fabricheck.monitor.ports import Ports, bands_of, default_state
from fabricheck.sites.files import extras_of

pytestmark = pytest.mark.integration

Of = Callable[[str], Tree]
HW = "sys/class/infiniband/*/ports/1/hw_counters/"
COUNTERS = "sys/class/infiniband/*/ports/1/counters/"
PAUSED = 'direction="received",priority='


def read(tmp_path: Path) -> dict[str, float]:
    samples = list(Ports(tmp_path / "state" / "ports.json").read())
    render(samples)
    told = values(samples)
    return {name.replace(_node(told), "NODE"): value for name, value in told.items()}


def _node(told: dict[str, float]) -> str:
    name = next((name for name in told if 'node="' in name), 'node="",')
    return name.split('node="')[1].split('"')[0] if "node=" in name else "NODE"


@pytest.mark.parametrize(
    ("counter", "shown"),
    [
        (("mlx5_roce", "mlx5_0", f"{HW}np_ecn_marked_roce_packets"), ("ecn_marked_packets", "", 1)),
        (("mlx5_roce", "mlx5_0", f"{HW}np_cnp_sent"), ("cnp_sent_packets", "", 1)),
        (("mlx5_roce", "mlx5_0", f"{HW}rp_cnp_handled"), ("cnp_handled_packets", "", 1)),
        (("mlx5_roce", "mlx5_0", "ethtool/*#rx_prio3_pause"), ("pause_frames", f'{PAUSED}"3"', 1)),
        (("mlx5_roce", "mlx5_0", "ethtool/*#link_down_events_phy"), ("link_down", "", 1)),
        (("mlx5_roce", "mlx5_0", f"{COUNTERS}port_xmit_data"), ("sent_bytes", "", 4)),
        (("mlx5_ib", "mlx5_0", f"{COUNTERS}port_rcv_data"), ("received_bytes", "", 4)),
        (("mlx5_ib", "mlx5_0", f"{COUNTERS}link_downed"), ("link_down", "", 1)),
        (("mlx5_ib", "mlx5_0", f"{HW}packet_seq_err"),
         ("retransmissions", 'band="loss",counter="packet_seq_err"', 1)),
        (("mlx5_ib", "mlx5_0", f"{COUNTERS}symbol_error"),
         ("errors", 'band="bit_error",counter="symbol_error"', 1)),
        (("mlx5_ib", "mlx5_0", f"{COUNTERS}port_rcv_packets"),
         ("packets", 'band="loss",counter="port_rcv_packets"', 1)),
        (("bnxt_re", "bnxt_re0", f"{HW}rx_ecn_marked_pkts"), ("ecn_marked_packets", "", 1)),
        (("bnxt_re", "bnxt_re0", f"{HW}tx_cnp_pkts"), ("cnp_sent_packets", "", 1)),
        (("bnxt_re", "bnxt_re0", f"{HW}rx_cnp_pkts"), ("cnp_handled_packets", "", 1)),
        (("bnxt_re", "bnxt_re0", f"{HW}tx_bytes"), ("sent_bytes", "", 1)),
        (("bnxt_re", "bnxt_re0", "ethtool/*#rx_pfc_ena_frames_pri3"),
         ("pause_frames", f'{PAUSED}"3"', 1)),
        (("bnxt_re", "bnxt_re0", "ethtool/*#rx_pause_frames"),
         ("pause_frames", f'{PAUSED}"all"', 1)),
        (("irdma", "rocep24s0f0", f"{HW}RxECNMrkd"), ("ecn_marked_packets", "", 1)),
        (("irdma", "rocep24s0f0", f"{HW}cnpSent"), ("cnp_sent_packets", "", 1)),
        (("irdma", "rocep24s0f0", f"{HW}cnpHandled"), ("cnp_handled_packets", "", 1)),
        (("irdma", "rocep24s0f0", "ethtool/*#rx_priority_3_xoff.nic"),
         ("pause_frames", f'{PAUSED}"3"', 1)),
        (("rxe", "rxe0", "proc/net/dev_snmp6/v0#Ip6InCEPkts"), ("ecn_marked_packets", "", 1)),
        (("rxe", "rxe0", "sys/class/net/v0/carrier_changes"), ("carrier_changes", "", 1)),
    ],
)  # fmt: skip
def test_a_counter_is_shown_under_the_name_of_its_role(
    tree: Of, tmp_path: Path, counter: tuple[str, str, str], shown: tuple[str, str, int]
) -> None:
    (name, device, path), (family, labels, factor) = counter, shown
    node = tree(name)
    if "dev_snmp6" in path:
        file = node.root / path.partition("#")[0]
        file.write_text(
            file.read_text().replace("Ip6InCEPkts                     \t0", "Ip6InCEPkts 4711")
        )
    else:
        node.set(path, 4711)
    port = f'node="NODE",device="{device}",port="1"'
    key = f"fabricheck_port_{family}_total{{{','.join(filter(None, (port, labels)))}}}"
    assert read(tmp_path)[key] == 4711 * factor


def test_the_older_names_hold_the_same(tree: Of, tmp_path: Path) -> None:
    tree("mlx5_roce").set(f"{HW}np_ecn_marked_roce_packets", 7)
    told = read(tmp_path)
    assert told['rdma_ecn_marked_packets{node="NODE",device="mlx5_0",port="1"}'] == 7
    assert (
        told['fabricheck_port_rate_bytes_per_second{node="NODE",device="mlx5_0",port="1"}']
        == 12.5e9
    )
    assert told['fabricheck_band_limit{node="NODE",band="ecn",level="critical"}'] == 500


def test_a_driver_that_sends_no_notification_has_no_series_of_it(tree: Of, tmp_path: Path) -> None:
    tree("rxe")
    assert not [name for name in read(tmp_path) if "cnp" in name]


def test_a_port_that_is_gone_is_told_until_it_is_back(tree: Of, tmp_path: Path) -> None:
    node = tree("rxe")
    port = '{node="NODE",device="rxe0",port="1"}'
    assert read(tmp_path)[f"fabricheck_port_missing{port}"] == 0
    node.pull()
    # Another process, days later.
    told = read(tmp_path)
    assert told[f"fabricheck_port_missing{port}"] == 1
    assert f"fabricheck_port_active{port}" not in told
    tree("rxe")
    assert read(tmp_path)[f"fabricheck_port_missing{port}"] == 0


def test_the_ports_that_an_earlier_version_saw_are_known(tree: Of, tmp_path: Path) -> None:
    tree("rxe")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "ports.json").write_text('{"ports": [["gone0", "1"]]}')
    told = read(tmp_path)
    assert told['fabricheck_port_missing{node="NODE",device="gone0",port="1"}'] == 1
    assert len([name for name in told if "last_active" in name]) == 1


def test_a_node_without_ports_has_a_count_of_them(tree: Of, tmp_path: Path) -> None:
    node = tree("rxe")
    assert read(tmp_path)['fabricheck_ports{node="NODE"}'] == 1
    assert read(tmp_path)['fabricheck_node_uptime_seconds{node="NODE"}'] > 0
    node.pull()
    (tmp_path / "state" / "ports.json").unlink()
    assert read(tmp_path)['fabricheck_ports{node="NODE"}'] == 0


def test_a_port_without_link_is_not_active(tree: Of, tmp_path: Path) -> None:
    tree("mlx5_ib").set("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN")
    port = '{node="NODE",device="mlx5_0",port="1"}'
    assert read(tmp_path)[f"fabricheck_port_active{port}"] == 0
    assert f"fabricheck_port_last_active_timestamp_seconds{port}" not in read(tmp_path)


def test_a_port_that_was_active_once_is_known_to_later_processes(
    tree: Of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, port = tree("mlx5_ib"), '{node="NODE",device="mlx5_0",port="1"}'
    last = f"fabricheck_port_last_active_timestamp_seconds{port}"
    now = 1_800_000_000.0
    monkeypatch.setattr("fabricheck.monitor.ports.time.time", lambda: now)
    assert read(tmp_path)[last] == now
    now += 5000
    assert read(tmp_path)[last] == 1_800_003_600
    node.set("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN")
    now += 50_000
    assert read(tmp_path)[last] == 1_800_003_600
    node.pull()
    assert read(tmp_path)[last] == 1_800_003_600


@pytest.mark.parametrize("text", ["", "[]", '{"ports": [1]}', '{"ports": [["a"]]}', "\xff"])
def test_a_damaged_state_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ports.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FabricheckError, match=r"ports\.json"):
        Ports(path)


def test_the_state_lies_where_systemd_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/x")
    assert default_state() == Path("/var/lib/x/ports.json")
    monkeypatch.delenv("STATE_DIRECTORY")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/u/state")
    assert default_state().parent == Path("/home/u/state/fabricheck")


def test_a_kernel_that_cannot_be_asked_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "nothing"))
    with pytest.raises(FabricheckError, match="expected one snapshot"):
        read(tmp_path)


def test_limits_are_those_of_the_partition(
    tree: Of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sites").mkdir()
    site = yaml.safe_load((ROOT / "sites" / "roce25g-8n.yaml").read_text())
    site["systems"][0]["partitions"][0]["extras"]["fabric_health"] = {"bands": {"ecn": [7, 9]}}
    (tmp_path / "sites" / "own.yaml").write_text(yaml.safe_dump(site))
    monkeypatch.setattr(
        "fabricheck.monitor.ports.extras_of", lambda name: extras_of(name, tmp_path)
    )
    tree("rxe")
    bands = bands_of("roce25g-8n:compute")
    told = values(Ports(tmp_path / "state" / "ports.json", bands).read())
    (found,) = (told[name] for name in told if 'band="ecn",level="critical"' in name)
    assert found == 9
    with pytest.raises(FabricheckError, match=r"expected a partition .*roce25g-8n:compute"):
        bands_of("roce25g-8n:none")


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("awk", ["mawk", "busybox awk"])
def test_the_script_without_python_tells_the_same(
    tree: Of, tmp_path: Path, name: str, awk: str
) -> None:
    node = tree(name)
    program, file = tmp_path / "fabricheck-ports", tmp_path / "ports.prom"
    write_script(program)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "awk").write_text(f'#!/bin/sh\nexec {awk} "$@"\n')
    (tools / "awk").chmod(0o755)
    env = {"PATH": f"{tools}:/usr/bin:/bin", "FABRICHECK_NODE_ROOT": str(node.root)}

    def run() -> int:
        return subprocess.run(["sh", program, file], env=env, check=False).returncode

    def same() -> None:
        found = Ports(tmp_path / "state" / "ports.json").read()
        expected = render(found)[PLAIN].decode()
        assert run() == 0
        told = file.read_text()
        assert promtool("check", "metrics", text=told).returncode == 0
        for ours, its in zip(_parsed(expected), _parsed(told), strict=True):
            assert ours == its

    same()
    node.pull()
    same()
    assert "fabricheck_port_missing{" in file.read_text()
    before = file.read_text()
    (node.root / "proc" / "uptime").unlink()
    assert run() == 1
    assert file.read_text() == before
    assert sorted(each.name for each in tmp_path.glob("ports.prom*")) == [
        "ports.prom", "ports.prom.seen",
    ]  # fmt: skip


def _parsed(page: str) -> list[tuple[str, str, str, set[tuple[str, str, float]]]]:
    return [
        (
            each.name, each.type, each.documentation,
            # They may have been asked on either side of an hour.
            {(one.name, str(sorted(one.labels.items())),
              one.value // 7200 if "last_active" in one.name else one.value)
             for one in each.samples},
        )
        for each in text_string_to_metric_families(page)
    ]  # fmt: skip
