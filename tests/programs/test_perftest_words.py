"""What perftest's words say beside its table: why it failed, what it used, how much it sent."""

from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.programs.perftest.entries import BENCHMARKS
from fabricheck.programs.perftest.read import (
    cause,
    confirm,
    least_packets,
    parse_runs,
    posted_at_once,
    used,
)
from fabricheck.programs.perftest.table import CONNECTION, GID_INDEX, LINK, MTU

DATA = Path(__file__).parents[1] / "data" / "perftest-4.5"
SEND_LAT = (DATA / "send_lat.rc.txt").read_text()

CAUSES = {
    "IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device": (
        "expected the RDMA device mlx5_9 on both nodes, found none of that name on one of them: "
        "correct ucx_net_devices.rdma in the site file (ibv_devices lists what a node has)"
    ),
    " Unable to find the Infiniband/RoCE device": "expected an RDMA device on both nodes, found",
    " Unable to query port 3 attributes\n Couldn't set": "expected port 3 on the RDMA device",
    " Port number 1 state is Down\n Couldn't set the link layer": (
        "expected port 1 of the RDMA device to be active, found Down"
    ),
    " Gid index should be between 0 and 64\n Parser function exited with Error": (
        "expected a GID index below 64, found 77: correct gid_index in the site file"
    ),
    "Failed to modify QP 1185 to RTR\n Unable to Connect the HCA's through the link": (
        "expected the two ports to connect, found that one can't reach the address of the other: "
        "GID index 77 is empty on a node"
    ),
    "libibverbs: Warning: RLIMIT_MEMLOCK is 16384 bytes.\nCouldn't allocate MR": (
        "expected memory that can be locked for RDMA, found a limit of 16384 B: raise memlock"
    ),
    "Couldn't allocate MR with error=12": "expected memory to be registered for RDMA, found that",
    " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81": (
        "expected an answer to every packet, found none after all retries"
    ),
    "Couldn't connect to n1:18515": "expected a connection to n1, port 18515, found none",
}


@pytest.mark.parametrize("words", CAUSES)
def test_the_cause_of_a_failure_is_one_sentence(words):
    found = cause(f"pair: run 1\n{words}\nsrun: error\n", 77)
    assert found.startswith(CAUSES[words])
    assert "\n" not in found


def test_words_that_name_no_cause_are_left_alone():
    assert cause("Segmentation fault", 1) is None
    assert "GID index perftest's own choice" in cause("Failed to modify QP 1 to RTR", None)


def test_a_curve_is_confirmed_by_what_perftest_used():
    curve = parse_runs([SEND_LAT], "x")
    asked = {CONNECTION: "RC", GID_INDEX: "1"}
    assert confirm(curve, BENCHMARKS["ib_send_lat"], asked, "x") == curve
    assert used(curve) == (
        "Device rxe1, Connection type RC, Mtu 4096, Link type Ethernet, GID index 1"
    )


@pytest.mark.parametrize(
    ("benchmark", "asked", "message"),
    [
        ("ib_send_lat", {CONNECTION: "UD"}, "expected Connection type UD, found RC"),
        ("ib_send_lat", {GID_INDEX: "3"}, "expected GID index 3, found 1"),
        ("ib_send_lat", {MTU: "1024"}, "expected Mtu 1024, found 4096"),
        ("ib_send_lat", {LINK: "IB"}, "expected Link type IB, found Ethernet"),
        ("ib_write_lat", {}, "expected benchmark ib_write_lat, found ib_send_lat"),
        ("ib_send_lat_events", {}, "expected benchmark ib_send_lat_events, found ib_send_lat"),
        ("ib_send_lat_inline", {}, "expected Max inline data 64, found 0"),
    ],
)
def test_a_curve_of_something_else_is_refused(benchmark, asked, message):
    with refused("FC1215", f"^x: {message}: perftest did not do what it was asked"):
        confirm(parse_runs([SEND_LAT], "x"), BENCHMARKS[benchmark], asked, "x")


def test_inline_data_is_told_by_its_size():
    text = SEND_LAT.replace("Max inline data : 0[B]", "Max inline data : 64[B]")
    inline = BENCHMARKS["ib_send_lat_inline"]
    assert confirm(parse_runs([text], "x"), inline, {}, "x").benchmark == "ib_send_lat_inline"


@pytest.mark.parametrize(
    ("file", "server", "client"),
    [
        ("send_lat.rc", 500, 500),
        ("write_bw.rc", 0, 200 * 16),
        ("write_bw.qp4", 0, 800),
        ("write_bw.bidir", 200, 200),
        ("read_lat.rc", 200, 200),
        ("read_bw.rc", 60 * 16, 60),
        ("atomic_bw.rc", 200, 200),
        ("write_bw.rc.small", 0, 2000),
    ],
)
def test_each_end_must_have_sent_so_many_packets(file, server, client):
    curve = parse_runs([(DATA / f"{file}.txt").read_text()], file)
    assert least_packets(curve) == (server, client)


def test_lists_of_requests_are_posted_whole():
    assert posted_at_once(BENCHMARKS["ib_write_bw_post16"]) == 16
    assert posted_at_once(BENCHMARKS["ib_write_bw_qp16"]) == 1
