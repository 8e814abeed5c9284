"""Each rule on counters broken once, on the names of each card."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.fabric.conftest import TREES, later, risen, snapshot_of

from fabricheck.fabric.counters import CounterPlace
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.health import judge, missing
from fabricheck.fabric.limits import Limits, read_limits
from fabricheck.judge.levels import Level
from fabricheck.sites.extras import PartitionExtras

pytestmark = pytest.mark.integration

SECONDS = 10.0


def judged(before, after, limits: Limits | None = None) -> list[Finding]:
    return judge(before, after, after.uptime - before.uptime, limits or Limits())


@pytest.mark.parametrize("tree", TREES)
def test_a_quiet_card_is_healthy(tmp_path: Path, tree: str) -> None:
    before = snapshot_of(tree, tmp_path)
    assert judged(before, later(before)) == []


@pytest.mark.parametrize("tree", TREES)
def test_traffic_alone_is_healthy(tmp_path: Path, tree: str) -> None:
    before = snapshot_of(tree, tmp_path)
    (port,) = before.ports.values()
    traffic = {
        name: 10_000_000
        for _, name in port.counters
        if "pkts" in name.lower() and name.lower().startswith(("sent", "rcvd", "tx_p", "rx_p"))
    }
    assert judged(before, risen(before, **traffic)) == []


@pytest.mark.parametrize(
    ("tree", "rises", "level", "words"),
    [
        # The seed's bands of ECN, on their edges: only below 100/s is good, above 500/s critical.
        ("mlx5_roce", {"np_ecn_marked_roce_packets": 1000, "port_rcv_packets": 10**6},
         Level.WARNING, "100/s (warning from 100/s)"),
        ("mlx5_roce", {"np_ecn_marked_roce_packets": 999, "port_rcv_packets": 10**6},
         None, "99.9/s"),
        ("mlx5_roce", {"np_ecn_marked_roce_packets": 1001, "port_rcv_packets": 10**6},
         Level.WARNING, "100.1/s (warning from 100/s)"),
        ("mlx5_roce", {"np_cnp_sent": 5000}, Level.WARNING, "500/s (warning from 100/s)"),
        ("mlx5_roce", {"np_cnp_sent": 5001}, Level.CRITICAL, "500.1/s (critical above 500/s)"),
        ("bnxt_re", {"rx_cnp_pkts": 2000}, Level.WARNING, "200/s"),
        ("irdma", {"cnpHandled": 6000}, Level.CRITICAL, "600/s"),
        # PFC.
        ("mlx5_roce", {"rx_prio3_pause": 1001}, Level.WARNING, "rx_prio3_pause"),
        ("mlx5_roce", {"tx_prio3_pause": 6000}, Level.CRITICAL, "600/s (critical above 500/s)"),
        ("bnxt_re", {"rx_pfc_ena_frames_pri3": 6000}, Level.CRITICAL, "rx_pfc_ena_frames_pri3"),
        ("irdma", {"rx_priority_5_xoff.nic": 2000}, Level.WARNING, "rx_priority_5_xoff.nic"),
        ("mlx5_roce", {"rx_prio3_pause_duration": 200_000}, Level.WARNING, "2 % of the time"),
        ("bnxt_re", {"pfc_pri3_rx_duration_us": 2_000_000}, Level.CRITICAL, "20 % of the time"),
        # Loss, retries.
        ("mlx5_roce", {"packet_seq_err": 50, "port_xmit_packets": 100_000},
         Level.WARNING, "0.05 % of packets, 50 of 100000 (warning above 0.01 %)"),
        ("mlx5_ib", {"out_of_sequence": 500, "port_rcv_packets": 100_000},
         Level.CRITICAL, "0.5 % of packets, 500 of 100000 (critical above 0.1 %)"),
        ("bnxt_re", {"oos_drop_count": 500, "rx_pkts": 100_000}, Level.CRITICAL, "0.5 %"),
        ("irdma", {"Rcvd Out of order packets": 30, "ip4InPkts": 50_000, "ip6InPkts": 50_000},
         Level.WARNING, "30 of 100000"),
        ("rxe", {"out_of_seq_request": 34, "rcvd_pkts": 2125},
         Level.CRITICAL, "1.6 % of packets, 34 of 2125 (critical above 0.5 %)"),
        ("rxe", {"rcvd_seq_err": 2, "sent_pkts": 100}, None, "fewer than ten"),
        ("rxe", {"rcvd_seq_err": 24, "sent_pkts": 10_000}, None, "0.24 % is clean"),
        ("rxe", {"completer_retry_err": 130, "sent_pkts": 10_000}, None, "1.3 % is clean"),
        ("rxe", {"completer_retry_err": 600, "sent_pkts": 10_000}, Level.WARNING, "6 %"),
        ("rxe", {"duplicate_request": 2821, "rcvd_pkts": 10_000}, None, "ignored"),
        ("rxe", {"rcvd_seq_err": 24}, Level.WARNING, "rose by 24; the number of packets"),
        ("rxe", {"Ip6InCEPkts": 60, "Ip6InECT0Pkts": 940},
         Level.CRITICAL, "6 % of packets, 60 of 1000 (critical above 5 %)"),
        # What never happens on a healthy link.
        ("rxe", {"link_downed": 1}, Level.CRITICAL, "rose by 1 (critical above 0)"),
        ("rxe", {"retry_exceeded_err": 1}, Level.CRITICAL, "was given up"),
        ("mlx5_ib", {"link_error_recovery": 1}, Level.CRITICAL, "link_error_recovery"),
        ("mlx5_ib", {"symbol_error": 1}, Level.WARNING, "rose by 1 (warning above 0)"),
        ("mlx5_ib", {"symbol_error": 101}, Level.CRITICAL, "rose by 101 (critical above 100)"),
        ("mlx5_roce", {"link_down_events_phy": 1}, Level.CRITICAL, "the link went down"),
        ("mlx5_roce", {"req_transport_retries_exceeded": 1}, Level.CRITICAL, "was given up"),
        ("mlx5_roce", {"rp_cnp_ignored": 1}, Level.WARNING, "were ignored"),
        ("bnxt_re", {"res_rx_pci_err": 1}, Level.CRITICAL, "PCIe"),
        ("irdma", {"mac_remote_faults.nic": 1}, Level.CRITICAL, "mac_remote_faults.nic"),
        ("bnxt_re", {"recoverable_errors": 9, "active_qps": -2}, None, "no counts of errors"),
    ],
)  # fmt: skip
def test_each_rule_sees_what_it_guards(
    tmp_path: Path, tree: str, rises: dict[str, int], level: Level | None, words: str
) -> None:
    before = snapshot_of(tree, tmp_path)
    findings = judged(before, risen(before, SECONDS, **rises))
    if level is None:
        assert findings == [], words
    else:
        (finding,) = findings
        assert finding.level is level
        assert words in str(finding)
        assert f"on n1 {next(iter(before.ports))}: " in str(finding)


def test_bands_of_the_site_count(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    after = risen(before, out_of_seq_request=34, rcvd_pkts=2125)
    loose = read_limits(
        PartitionExtras.of({"fabric_health": {"bands": {"soft_loss": [0.01, None]}}})
    )
    (finding,) = judged(before, after, loose)
    assert finding.level is Level.WARNING
    assert "warning above 1 %" in finding.found
    assert judged(before, after, Limits(ignore=frozenset({"out_of_seq_request"}))) == []
    assert judged(before, after, Limits(least_events=35)) == []


def test_a_counter_that_went_back_is_told_and_not_judged(tmp_path: Path) -> None:
    before = risen(snapshot_of("mlx5_roce", tmp_path), np_cnp_sent=2**32 - 5)
    after = risen(before, np_cnp_sent=-(2**32) + 60)
    (finding,) = judged(before, after)
    assert "np_cnp_sent on n1 mlx5_0:1: counter went back from 4294967291 to 55" in str(finding)
    assert finding.level is Level.WARNING


def test_a_counter_that_cannot_rise_is_told(tmp_path: Path) -> None:
    before = risen(snapshot_of("mlx5_ib", tmp_path), symbol_error=0xFFFF)
    (finding,) = judged(before, later(before))
    assert "symbol_error on n1 mlx5_0:1: stands at 65535, the highest" in str(finding)


def test_counters_that_went_away_are_told(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (port,) = before.ports.values()
    left = {key: value for key, value in port.counters.items() if key[1] != "rcvd_seq_err"}
    (finding,) = judged(before, later(before, counters=left))
    assert "rcvd_seq_err could be read before the run and not after it" in str(finding)


def test_a_card_that_the_table_does_not_know_is_not_green(tmp_path: Path) -> None:
    before = later(snapshot_of("bnxt_re", tmp_path), 0, driver="qedr")
    (finding,) = judged(before, later(before))
    assert finding.level is Level.WARNING
    assert "nothing judges those of driver qedr" in str(finding)


def test_a_node_that_was_booted_is_told(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (finding,) = judged(before, replace(later(before), uptime=3.0))
    assert "uptime on n1: 3 s after the run" in str(finding)
    assert finding.level is Level.CRITICAL


def lacking(tree: str, root: Path) -> set[str]:
    (port,) = snapshot_of(tree, root).ports.values()
    return {row.name for row in missing(port)}


def test_what_a_port_lacks_is_listed(tmp_path: Path) -> None:
    soft = lacking("rxe", tmp_path / "a")
    assert "symbol_error" in soft
    assert "out_of_seq_request" not in soft
    card = lacking("mlx5_roce", tmp_path / "b")
    assert "rx_prio{n}_pause" not in card
    assert "rx_global_pause" in card
    assert {"np_cnp_sent", "rx_prio{n}_pause"} <= lacking("mlx5_ib", tmp_path / "c")


def test_a_port_that_is_not_in_use_is_not_judged(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (port,) = before.ports.values()
    idle = replace(port, device="rxe9", state="DOWN")
    both = replace(before, ports={**before.ports, idle.name: idle})
    counters = {**idle.counters, (CounterPlace.HW_COUNTERS, "link_downed"): 7}
    after = replace(both, uptime=both.uptime + 1, ports={
        **both.ports, idle.name: replace(idle, counters=counters)
    })  # fmt: skip
    assert judged(both, after) == []
    assert len(judged(both, after, Limits(devices=("rxe0:1", "rxe9:1")))) == 2
