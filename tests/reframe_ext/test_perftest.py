"""The check of perftest with a perftest that fails in every way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fabric.conftest import unpack
from tests.reframe_ext.pair_suite import SLOW, Ran

pytestmark = pytest.mark.integration

QUICK = {**SLOW, "size_step": 1 << 14}


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Ran]:
    def run(benchmark: str, way: str = "rc", extras: Any = SLOW, **fake: object) -> Ran:
        return Ran(
            tmp_path,
            "perftest.py",
            f"benchmark == {benchmark!r} and transport == {way!r}",
            extras=extras,
            variables={
                "FAKE": json.dumps(fake),
                "FABRICHECK_NODE_ROOT": str(unpack("rxe", tmp_path / "tree")),
            },
        )

    return run


def test_a_good_run_is_believed(ran: Callable[..., Ran]) -> None:
    good = ran("ib_send_lat")
    # The system has no reference file, so nothing judges what has been proved.
    assert good.level == "no-reference", good.findings
    program, *runs = good.command.split(" ::: ")
    assert program == "ib_send_lat -F -c RC -x 1"
    assert [run.split()[:2] for run in runs] == [
        ["-s", size] for size in ("2", "8", "256", "8192", "65536")
    ]
    counts = [int(run.split()[3]) for run in runs]
    assert counts == sorted(counts, reverse=True), "large messages get fewer iterations"
    assert [each.variable.rpartition("_")[2] for each in good.case["samples"]][::3] == [
        "2B", "8B", "256B", "8KiB", "64KiB",
    ]  # fmt: skip
    assert good.case["program_version"] == "6.06"
    assert good.case["nodes"] == ("n0", "n1")
    assert good.case["evidence"] == (
        "perftest used Device rxe1, Connection type RC, Mtu 4096, Link type Ethernet, GID index 1; "
        "ports sent 10000000 packets from n0, 10000000 packets from n1"
    )


def test_a_fast_fabric_is_measured_in_one_run(ran: Callable[..., Ran]) -> None:
    whole = ran("ib_write_bw", extras={"gid_index": 1})
    assert whole.command == "ib_write_bw -F -c RC -x 1 ::: -a"
    assert whole.level == "no-reference", whole.findings
    assert len(whole.case["samples"]) == 2 * 23


def test_datagrams_end_at_the_mtu(ran: Callable[..., Ran]) -> None:
    extras = {"gid_index": 1, "fabric_health": {"mtu": 4096}, "size_step": 64}
    datagrams = ran("ib_send_bw", "ud", extras=extras)
    assert datagrams.level == "no-reference", datagrams.findings
    assert datagrams.command.startswith("ib_send_bw -F -c UD -x 1 -m 4096 ::: -s 2 ::: ")
    assert datagrams.command.endswith(" ::: -s 4096")


def test_an_atomic_has_one_size(ran: Callable[..., Ran]) -> None:
    atomic = ran("ib_atomic_bw_events")
    assert atomic.command.startswith("ib_atomic_bw -e -F -c RC -x 1 ::: -n ")
    assert atomic.level == "no-reference", atomic.findings
    assert [each.variable for each in atomic.case["samples"]] == [
        f"{metric}_avg_8B" for metric in ("bandwidth", "message_rate")
    ]


def test_a_clock_that_perftest_cannot_tell_is_a_disturbance(ran: Callable[..., Ran]) -> None:
    words = "Correlation coefficient r^2: 0.868499 < 0.9"
    delayed = ran("ib_write_bw", extras=QUICK, bandwidth=0.0, says=words)
    assert delayed.level == "disturbed"
    first, second = delayed.findings
    assert first.startswith("perftest could not measure the processor's clock rate")
    assert second.endswith("expected a bandwidth above zero, found none")


UNTRUSTED = {
    "other connection": (
        {"Connection type": "UD"},
        "expected Connection type RC, found UD: perftest did",
    ),
    "silent port": (
        {"sent": {"1": 0}},
        "packets or more from the RDMA ports of n1, found 0: the messages went another way",
    ),
    "no such device": (
        {"faults": {"server": "IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE"}},
        "expected the RDMA device mlx5_9 on both nodes, found none of that name on one of them",
    ),
    "unknown words": (
        {"faults": {"client": "Segmentation fault"}},
        "run 1: the client ib_write_bw on n1 ended with exit code 1",
    ),
    "another version": (
        {"version": {"0": "6.06", "1": "6.25"}},
        "expected the same version of ib_write_bw at both ends, found 'Version: 6.06' on n0 and",
    ),
}


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_what_is_not_proved_is_not_believed(ran: Callable[..., Ran], kind: str) -> None:
    fake, message = UNTRUSTED[kind]
    doubtful = ran("ib_write_bw", extras=QUICK, **fake)
    assert doubtful.level == "untrusted"
    assert message in doubtful.findings[0]
    assert doubtful.case["result"] == "fail"
    assert all(each.value is None for each in doubtful.case["samples"])


def test_a_named_port_is_the_one_that_counts(ran: Callable[..., Ran]) -> None:
    extras = {**QUICK, "ucx_net_devices": {"rdma": "rxe0:1"}}
    named = ran("ib_read_bw", extras=extras)
    assert named.command.startswith("ib_read_bw -F -c RC -x 1 -d rxe0 -i 1 ::: ")
    assert named.level == "no-reference", named.findings
    assert "Device rxe0" in named.case["evidence"]


@pytest.mark.parametrize(
    ("bandwidth", "level", "message"),
    [
        (1200.0, "untrusted", "more than the link can carry: the data took another path"),
        (1000.0, "no-reference", "warning: bandwidth reaches 86 % of what a link of 10 Gbit/s"),
        (800.0, "critical", "critical: bandwidth reaches 68 % of what a link of 10 Gbit/s"),
    ],
)
def test_bandwidth_is_held_against_the_link(
    ran: Callable[..., Ran], bandwidth: float, level: str, message: str
) -> None:
    extras = {**QUICK, "link_rate": 10}
    held = ran("ib_write_bw", extras=extras, bandwidth=bandwidth)
    assert held.level == level
    assert any(message in finding for finding in held.findings), held.findings


def test_shares_of_the_link_that_make_no_sense_stop_the_run(ran: Callable[..., Ran]) -> None:
    refused = ran("ib_write_bw", extras={**QUICK, "link_rate": 10, "link_shares": {"warning": 2}})
    assert "expected link_shares with 0 <= critical <= warning <= 1" in refused.case["fail_reason"]
