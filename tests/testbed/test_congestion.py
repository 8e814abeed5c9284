"""Congestion for real: a slow cable marks, and latency, counters and exporter show it."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fabricheck.fabric.snapshot import SCRIPT, parse
from fabricheck.monitor.ports import of_snapshot
from fabricheck.testbed import Testbed, faults

pytestmark = pytest.mark.lab
SECONDS = 120.0
# RoCE sends what may be marked only in a class whose ECN bits say so.
COMMON = "--gid-index=1 --tclass=106 --force-link=Ethernet -F"
MARKED = "fabricheck_port_ecn_marked_packets_total"
Script = Callable[[str, str], str]


@contextmanager
def running(testbed: Testbed, node: str, command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a node, which ends with the block."""
    process = subprocess.Popen(
        testbed.command(node, "sh", "-c", command), stdout=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(SECONDS)


def client(command: str) -> str:
    """A command that waits for its server, which says nothing when it is ready."""
    once = f"{command} rx2"
    return f"for _ in $(seq 50); do {once} 2>/dev/null && exit; sleep 0.2; done; exec {once}"


def latency(testbed: Testbed, on: Script) -> float:
    """Typical latency of 64 B from rx1 to rx2 in microseconds."""
    command = f"ib_send_lat {COMMON} --port=18600 --size=64 --iters=60"
    with running(testbed, "rx2", f"{command} -d rxe1"):
        said = on("rx1", client(f"{command} -d rxe0"))
    (found,) = re.findall(r"^ *64 +60 +\S+ +\S+ +(\S+)", said, re.MULTILINE)
    return float(found)


def marks(on: Script) -> int:
    """Marked packets that came to rx2, as its kernel counts them."""
    return int(on("rx2", "grep -w Ip6InCEPkts /proc/net/dev_snmp6/v1").split()[1])


def exported(on: Script) -> float:
    """The same, as the exporter tells it."""
    (snapshot,) = parse(on("rx2", f"{SCRIPT} now"), "rx2")
    (found,) = [each.value for each in of_snapshot(snapshot) if each.family.name == MARKED]
    return found


def test_marks_and_latency_rise_together(rdma_testbed: Testbed, on: Script) -> None:
    testbed = rdma_testbed
    faults.inject(testbed.files, "rx1", ["red", "20mbit"])
    try:
        before = marks(on)
        idle = latency(testbed, on)
        assert marks(on) == before, "an idle link marks nothing"
        load = f"ib_write_bw {COMMON} --port=18601 --size=65536 --duration={SECONDS:.0f}"
        with (
            running(testbed, "rx2", f"{load} -d rxe1"),
            running(testbed, "rx1", client(f"{load} -d rxe0")) as sender,
        ):
            while marks(on) == before:
                assert sender.poll() is None, "the load has ended, and nothing was marked"
            loaded = latency(testbed, on)
            assert sender.poll() is None, "the load ended before the measurement"
        # On a quiet machine a thousandfold; a busy one makes the idle emulated guest slow as well.
        assert loaded > 2 * idle, f"{idle} us idle, {loaded} us loaded"
        # What stands in the queue still comes.
        counted, told = -1, 0.0
        while counted != marks(on):
            counted = marks(on)
            told = exported(on)
        assert told == counted > before
    finally:
        faults.clear(testbed.files, "rx1")
