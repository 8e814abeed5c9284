from dataclasses import replace
from pathlib import Path

import pytest

from fabricheck.transports import proof as proving
from fabricheck.transports.families import choice
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.proof import Proof
from fabricheck.transports.statement import read_lanes, read_parameters
from fabricheck.transports.table import Transport, find
from fabricheck.transports.witness import (
    Lane,
    UcxLog,
    Witness,
    read_mvapich2_parameters,
    read_ucx_log,
)

DATA = Path(__file__).parents[1] / "data"
RECORDED = sorted((DATA / "ucx").glob("*.txt"))
LOAD = Load(payload=100_000_000, calls=10_000)


def prove(
    transport: Transport,
    load: Load,
    logs: list[UcxLog],
    witnesses: list[Witness],
    *,
    quiet: bool = True,
) -> Proof:
    said = read_lanes(transport, logs, len(witnesses))
    return proving.prove(transport, load, said, witnesses, quiet=quiet)


def logs(*lanes: str, hosts: tuple[str, ...] = ("n1", "n2")) -> list[UcxLog]:
    found = tuple(Lane(*lane.replace("(", " ").replace("/", " ").split()) for lane in lanes)
    return [UcxLog(host, "1.13.1", found) for host in hosts]


def witnesses(
    *moves: dict[tuple[str, str, str], int],
    hosts: tuple[str, ...] = ("n1", "n2"),
    below: str = "",
) -> list[Witness]:
    return [
        Witness(
            rank, host, "", str(rank), 0, moves[min(rank, len(moves) - 1)], frozenset(below.split())
        )
        for rank, host in enumerate(hosts)
    ]


MOVED = {("netdev", "eth0", "rx_bytes"): 60_000_000, ("netdev", "eth0", "tx_bytes"): 60_000_000}
STILL = {("netdev", "eth0", "rx_bytes"): 30_000, ("netdev", "eth0", "tx_bytes"): 30_000}


def test_tcp_is_proved_by_lanes_and_bytes() -> None:
    proof = prove(find("tcp"), LOAD, logs("tag(tcp/eth0"), witnesses(MOVED))
    assert proof.objections == ()
    assert "tag(tcp/eth0)" in proof.evidence
    assert "120000000 B on n1" in proof.evidence


@pytest.mark.parametrize(
    ("asked", "served", "kinds", "found"),
    [
        ("ipoib", "ib0", "ib0", ""),
        ("ipoib", "eth0", "ib0", "expected lanes of ipoib on ib0, found tag(tcp/eth0) on n1"),
        ("tcp", "ib0", "ib0", "expected lanes of tcp on eth0, found tag(tcp/ib0) on n1"),
        ("ipoib", "ib0", "", "interface of InfiniBand for ipoib, found ib0 of n1, which is none"),
    ],
)
def test_ipoib_and_ethernet_are_told_apart_by_lanes_and_counters(
    asked: str, served: str, kinds: str, found: str
) -> None:
    interface = {"ipoib": "ib0", "tcp": "eth0"}[asked]
    moved = {(kind, served, counter): bytes_ for (kind, _, counter), bytes_ in MOVED.items()}
    seen = [replace(each, ipoib=frozenset(kinds.split())) for each in witnesses(moved)]
    lanes = logs(f"tag(tcp/{served}")
    said = read_lanes(find(asked), lanes, 2, (interface,))
    proof = proving.prove(find(asked), LOAD, said, seen, quiet=True, interfaces=(interface,))
    assert bool(proof.objections) == bool(found)
    assert any(found in each for each in ("", *proof.objections))
    if served != interface:
        # Also where no library says its lanes: the counters of that interface stood still.
        assert f"{interface} of n2 for {asked}, found 0 B" in proof.objections[-1]


def test_tcp_served_where_shared_memory_was_asked() -> None:
    hosts = ("n1", "n1")
    proof = prove(find("shm"), LOAD, logs("tag(tcp/lo", hosts=hosts), witnesses(MOVED, hosts=hosts))
    assert any("found tag(tcp/lo) on n1" in objection for objection in proof.objections)
    assert any("interfaces of n1 to stay still" in objection for objection in proof.objections)


def test_shared_memory_is_proved_by_still_interfaces() -> None:
    hosts = ("n1", "n1")
    lanes = logs("tag(sysv/memory", "tag(cma/memory", hosts=hosts)
    assert prove(find("shm"), LOAD, lanes, witnesses(STILL, hosts=hosts)).objections == ()


RDMA = {("rdma", "rxe0:1", "sent_pkts"): 15_000, ("rdma", "rxe0:1", "rcvd_pkts"): 15_000}
CARDS = {
    ("rdma", "mlx5_0:1", "port_xmit_packets"): 15_000,
    ("rdma", "mlx5_0:1", "port_rcv_packets"): 15_000,
}


FEW_SENT = {**RDMA, ("rdma", "rxe0:1", "sent_pkts"): 120}
ONE_A_CALL = {("rdma", "rxe0:1", "sent_pkts"): 10_000, ("rdma", "rxe0:1", "rcvd_pkts"): 10_000}
SMALL = {("netdev", "lo", "rx_bytes"): 1_000_000, ("netdev", "lo", "rx_packets"): 20_000}


@pytest.mark.parametrize(
    ("asked", "load", "seen", "quiet", "words"),
    [
        ("tcp", LOAD, (logs("tag(tcp/eth0"), witnesses(MOVED, STILL)), True,
         ("interfaces of n2 for tcp, found 60000 B",)),
        ("tcp", LOAD, (logs("tag(tcp/eth0"), witnesses(STILL)), False,
         ("interfaces of n1 for tcp, found", "interfaces of n2 for tcp, found")),
        ("tcp", LOAD, (logs("tag(sysv/memory"), witnesses(MOVED)), True,
         ("expected data lanes on tcp (tcp), found tag(sysv/memory)",) * 2),
        ("tcp", LOAD, (logs("tag(tcp/eth0")[:1], witnesses(MOVED)), True, ("2 UCX logs",)),
        ("tcp", LOAD, (logs(), witnesses(MOVED)), True, ("UCX lanes to other ranks on tcp",) * 2),
        ("rc", LOAD, (logs("tag(rc_mlx5/mlx5_0:1"), witnesses(MOVED)), False,
         ("RDMA ports of n1 for rc, found 0", "RDMA ports of n2 for rc, found 0")),
        ("ud", LOAD, (logs("tag(ud_verbs/x"), witnesses(RDMA, FEW_SENT)), True,
         ("expected 10000 packets or more from the RDMA ports of n2 for ud, found 120",)),
        # A packet for each call is too few for large messages.
        ("rc", LOAD, (logs("tag(rc_verbs/x"), witnesses(ONE_A_CALL)), True,
         ("expected 24414 packets or more through the RDMA ports of n1 for a payload of "
          "100000000 B over rc, found 20000", "through the RDMA ports of n2")),
        # Many small messages over the network are no shared memory.
        ("shm", Load(payload=80_000, calls=10_000), (logs("tag(sysv/memory"), witnesses(SMALL)),
         True, ("found 20000 packets for 10000 calls",) * 2),
        # A kind of lane that nobody knows carries data.
        *(("rc", LOAD, (logs("tag(rc_verbs/rxe0:1", f"{kind}(tcp/eth0"), witnesses(RDMA)), True,
           (f"found {kind}(tcp/eth0) on n1", f"found {kind}(tcp/eth0) on n2"))
          for kind in ("stream", "device", "am_bw", "anything_new")),
    ],
)  # fmt: skip
def test_what_lanes_or_counters_do_not_bear_out_is_not_believed(
    asked: str,
    load: Load,
    seen: tuple[list[UcxLog], list[Witness]],
    quiet: bool,
    words: tuple[str, ...],
) -> None:
    found = prove(find(asked), load, *seen, quiet=quiet).objections
    assert len(found) == len(words), found
    assert all(part in each for part, each in zip(words, found, strict=True))


@pytest.mark.parametrize("asked", ["rc", "ud", "dc", "tcp", "shm"])
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.stem)
def test_what_ucx_says_is_held_against_what_was_asked(recorded: Path, asked: str) -> None:
    version, served, _ = recorded.stem.split("-")
    log = read_ucx_log(recorded.read_text())
    assert log.version == version
    objections = prove(find(asked), Load(0, 0), [log, log], witnesses({})).objections
    if asked == served:
        assert objections == ()
    else:
        assert f"expected data lanes on {asked}" in objections[0]
        assert f"on {log.host}" in objections[0]


def test_ud_is_right_for_the_keepalive_of_rc_and_wrong_for_its_data() -> None:
    rc = find("rc")
    wireup = logs("tag(rc_verbs/rxe0:1", "ka(ud_verbs/rxe0:1")
    assert prove(rc, LOAD, wireup, witnesses(RDMA)).objections == ()
    served = logs("tag(rc_verbs/rxe0:1", "am(ud_verbs/rxe0:1")
    assert "am(ud_verbs/rxe0:1)" in prove(rc, LOAD, served, witnesses(RDMA)).objections[0]
    alone = prove(rc, LOAD, logs("ka(ud_verbs/rxe0:1"), witnesses(RDMA))
    assert "expected UCX lanes to other ranks on rc, found none" in alone.objections[0]


@pytest.mark.parametrize("moved", [RDMA, CARDS], ids=["rxe", "mlx5"])
@pytest.mark.parametrize("transport", ["rc", "ud"])
def test_rdma_is_proved_by_the_packets_of_both_ports(
    transport: str, moved: dict[tuple[str, str, str], int]
) -> None:
    lanes = logs(f"tag({transport}_verbs/rxe0:1")
    proof = prove(find(transport), LOAD, lanes, witnesses(moved))
    assert proof.objections == ()
    assert "ports moved 15000 packets on n1, 15000 packets on n2" in proof.evidence


def test_tcp_beside_rdma_is_not_believed() -> None:
    rc, lanes = find("rc"), logs("tag(rc_verbs/rxe0:1")
    both = {**RDMA, **MOVED}
    found = prove(rc, LOAD, lanes, witnesses(both)).objections
    assert "expected the interfaces of n1 to stay still for rc, found 120000000 B" in found[0]
    # The interface below the port moves with it; a neighbour's bytes say nothing.
    assert prove(rc, LOAD, lanes, witnesses(both, below="eth0")).objections == ()
    assert prove(rc, LOAD, lanes, witnesses(both), quiet=False).objections == ()


def test_nodes_of_one_kernel_see_each_others_interfaces() -> None:
    both = {**RDMA, ("netdev", "v0", "rx_bytes"): 60_000_000, ("netdev", "v1", "rx_bytes"): 1 << 26}
    first, second = witnesses(both)
    seen = [replace(first, below_ports={"v0"}), replace(second, below_ports={"v1"})]
    assert prove(find("rc"), LOAD, logs("tag(rc_verbs/rxe0:1"), seen).objections == ()


def test_a_barrier_is_witnessed_by_packets() -> None:
    barrier = Load(payload=0, calls=100_000)
    packets = {("netdev", "eth0", "tx_packets"): 150_000}
    few = {("netdev", "eth0", "tx_packets"): 500}
    tcp, shm = find("tcp"), find("shm")
    assert prove(tcp, barrier, logs("tag(tcp/eth0"), witnesses(packets)).objections == ()
    assert "found 500" in prove(tcp, barrier, logs("tag(tcp/eth0"), witnesses(few)).objections[0]
    assert (
        "packets for 100000 calls"
        in (prove(shm, barrier, logs("tag(sysv/memory"), witnesses(packets)).objections[0])
    )


@pytest.mark.parametrize(
    ("transport", "lanes"),
    [("tcp", ("tag(tcp/eth0",)), ("auto", ("tag(tcp/eth0", "rma_bw(rc_verbs/rxe0:1"))],
)
def test_large_messages_do_not_stand_for_small_ones(transport: str, lanes: tuple[str, ...]) -> None:
    latency = replace(LOAD, calls=100_000, waits=True)
    packets = ("netdev", "eth0", "tx_packets")
    all_, large = ({**MOVED, packets: number} for number in (200_000, 30_000))
    chosen, said = find(transport), logs(*lanes)
    assert prove(chosen, latency, said, witnesses(all_)).objections == ()
    (found, _) = prove(chosen, latency, said, witnesses(large)).objections
    assert "100000 packets or more" in found
    # Messages of a window may share a packet.
    window = replace(latency, waits=False)
    assert prove(chosen, window, said, witnesses(large)).objections == ()


def test_lanes_to_the_rank_itself_say_nothing() -> None:
    text = (
        "[1795240120.058659] [n1:31104:0] ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded)\n"
        "[1795240120.058659] [n1:31104:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: "
        "tag(self/memory0 tcp/lo) rma(self/memory0)\n"
        "[1795240120.059730] [n1:408  :0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: "
        "tag(tcp/eth0) rma_am(tcp/eth0)\n"
    )
    log = read_ucx_log(text)
    assert log.host == "n1"
    assert log.version == "1.13.1"
    assert [str(lane) for lane in log.lanes] == ["tag(tcp/eth0)", "rma_am(tcp/eth0)"]


def test_an_endpoint_that_the_asynchronous_thread_made_is_seen() -> None:
    text = (
        "[1795240120.058659] [rx2:27   :0] ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: "
        "tag(self/memory0)\n"
        "[1795240120.059730] [rx2:27   :a] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: "
        "tag(ud_verbs/rxe1:1)\n"
    )
    assert [str(lane) for lane in read_ucx_log(text).lanes] == ["tag(ud_verbs/rxe1:1)"]


def test_the_title_of_a_protocol_table_is_no_lane() -> None:
    log = read_ucx_log((DATA / "ucx-cuda" / "1.20.1-cuda_ipc-y.txt").read_text())
    assert [str(lane) for lane in log.lanes] == [
        "tag(sysv/memory)",
        "tag(cma/memory)",
        "tag(cuda_ipc/cuda)",
    ]


@pytest.mark.parametrize("served", ["rc", "ud"])
@pytest.mark.parametrize("asked", ["rc", "ud"])
def test_what_mvapich2_applied_is_held_against_what_was_asked(asked: str, served: str) -> None:
    errors = (DATA / "mvapich2" / f"2.3.7-{served}.txt").read_text()
    said = read_parameters(find(asked), choice("mvapich2", asked), read_mvapich2_parameters(errors))
    proof = proving.prove(find(asked), LOAD, said, witnesses(RDMA), quiet=True)
    only_ud = {"rc": "0", "ud": "1"}
    if asked == served:
        assert proof.objections == ()
        assert f"applied MV2_USE_ONLY_UD={only_ud[asked]}" in proof.evidence
        assert "15000 packets on n1" in proof.evidence
    else:
        assert proof.objections[0].startswith(
            f"expected MV2_USE_ONLY_UD={only_ud[asked]} for {asked}, found {only_ud[served]} in "
        )


def test_mvapich2_without_list_or_packets_is_not_believed() -> None:
    ud, choose_ud = find("ud"), choice("mvapich2", "ud")
    silent = read_parameters(ud, choose_ud, read_mvapich2_parameters("mpi_probe: hello\n"))
    assert "expected MV2_USE_ONLY_UD=1 for ud, found nothing" in silent.objections[0]
    said = read_parameters(ud, choose_ud, {"MV2_USE_ONLY_UD": "1"})
    assert said.objections == ()
    still = witnesses({("rdma", "rxe0:1", "sent_pkts"): 7})
    objections = proving.prove(ud, LOAD, said, still, quiet=True).objections
    assert "RDMA ports of n2 for ud, found 7" in objections[1]


def test_other_traffic_says_nothing_against_shared_memory() -> None:
    hosts = ("vm", "vm")
    lanes = logs("tag(sysv/memory", hosts=hosts)
    proof = prove(find("shm"), LOAD, lanes, witnesses(MOVED, hosts=hosts), quiet=False)
    assert proof.objections == ()
    assert "counters ignored" in proof.evidence


def test_auto_is_proved_by_the_counters_of_the_lanes_that_ucx_chose() -> None:
    auto = find("auto")
    rdma, tcp = logs("tag(rc_mlx5/mlx5_0:1"), logs("tag(tcp/eth0")
    assert prove(auto, LOAD, rdma, witnesses(CARDS)).objections == ()
    assert prove(auto, LOAD, tcp, witnesses(MOVED)).objections == ()
    assert (
        "RDMA ports of n1 for auto, found 0"
        in prove(auto, LOAD, rdma, witnesses(MOVED), quiet=False).objections[0]
    )
    assert "interfaces of n1 for auto" in prove(auto, LOAD, tcp, witnesses(CARDS)).objections[0]


def test_where_ucx_chose_both_kinds_of_lanes_both_counters_count() -> None:
    auto, both = find("auto"), logs("tag(tcp/eth0", "rma_bw(rc_verbs/rxe0:1")
    half = {
        ("netdev", "eth0", "tx_bytes"): 50_000_000,
        ("netdev", "eth0", "tx_packets"): 6_000,
        ("rdma", "rxe0:1", "sent_pkts"): 12_500,
    }
    proof = prove(auto, LOAD, both, witnesses(half))
    assert proof.objections == ()
    assert "ports moved 12500 packets and 50000000 B on n1" in proof.evidence
    (few, _) = prove(auto, LOAD, both, witnesses(STILL)).objections
    assert "through interfaces and RDMA ports of n1 for auto, found 60000 B" in few
    barrier = Load(payload=0, calls=100_000)
    assert "18500 packets" in prove(auto, barrier, both, witnesses(half)).objections[0]


def test_datagrams_with_shared_memory_inside_are_proved_by_packets() -> None:
    seed = find("ud_verbs_sm")
    lanes = logs("tag(ud_verbs/mlx5_0:1", "tag(sysv/memory")
    assert prove(seed, LOAD, lanes, witnesses(CARDS)).objections == ()
    inside = logs("tag(sysv/memory")
    assert "RDMA ports of n1" in prove(seed, LOAD, inside, witnesses(STILL)).objections[0]
    other = logs("tag(ud_mlx5/mlx5_0:1")
    assert "found tag(ud_mlx5" in prove(seed, LOAD, other, witnesses(CARDS)).objections[0]


@pytest.mark.parametrize(("asked", "other"), [("rc_verbs", "rc_mlx5"), ("ud_mlx5", "ud_verbs")])
def test_a_flavour_is_not_the_other(asked: str, other: str) -> None:
    served = logs(f"tag({other}/mlx5_0:1")
    assert f"found tag({other}/" in prove(find(asked), LOAD, served, witnesses(CARDS)).objections[0]
    assert prove(find(find(asked).base), LOAD, served, witnesses(CARDS)).objections == ()
