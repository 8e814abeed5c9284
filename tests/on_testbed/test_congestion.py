"""Congestion for real: a slow cable marks, and latency, counters and exporter show it."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import pytest
from scipy.stats import spearmanr

from fabricheck.fabric.ports import snapshot_of
from fabricheck.monitor.ports import of_snapshot
from fabricheck.nodes.told import SCRIPT, parse
from fabricheck_testbed import Testbed, faults

pytestmark = pytest.mark.lab
SECONDS = 120.0
# RoCE sends what may be marked only in a class whose ECN bits say so. A ping through a full queue,
# or to a node that gets no processor, takes longer than the 67 ms after which it is sent again.
COMMON = "--gid-index=1 --tclass=106 --qp-timeout=19 --force-link=Ethernet -F"
MARKED = "fabricheck_port_ecn_marked_packets_total"
# Packets: more than two programs need to know each other, three seconds of a full cable.
FLOWS = 200
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
    return (
        "trap 'kill $last; exit' TERM; for _ in $(seq 50); do "
        f"{command} rx2 & last=$!; wait $last && exit; sleep 0.2; done; exit 1"
    )


@dataclass(frozen=True)
class Window:
    """Some seconds beside a load: its messages under way, latency in us, marks, and time in s."""

    depth: int
    latency: float
    marks: int
    seconds: float

    @property
    def rate(self) -> float:
        """Marks a second."""
        return self.marks / self.seconds

    def __str__(self) -> str:
        return f"{self.depth:3} under way: p50 {self.latency:8.0f} us, {self.rate:5.0f} marks/s"


def latency(testbed: Testbed, on: Script) -> float:
    """Typical latency of 64 B from rx1 to rx2 in microseconds."""
    command = f"ib_send_lat {COMMON} --port=18600 --size=64 --iters=30"
    with running(testbed, "rx2", f"{command} -d rxe1"):
        said = on("rx1", client(f"{command} -d rxe0"))
    (found,) = re.findall(r"^ *64 +30 +\S+ +\S+ +(\S+)", said, re.MULTILINE)
    return float(found)


@contextmanager
def load(testbed: Testbed, on: Script, depth: int) -> Iterator[None]:
    """So many messages of 4 KiB under way from rx1 to rx2 all the time; none for depth 0.

    A message follows each that has come (``--cq-mod=1``). As it is, ib_write_bw lets all of them
    come before it sends again, so the queue would be empty half of the time, and most pings would
    go through just then.
    """
    if not depth:
        yield
        return
    words = (
        f"ib_write_bw {COMMON} --port=18601 --size=4096 --tx-depth={depth} --cq-mod=1 "
        "--duration=900"
    )
    before = received(on)
    with (
        running(testbed, "rx2", f"{words} -d rxe1"),
        running(testbed, "rx1", client(f"{words} -d rxe0")) as sender,
    ):
        while received(on) < before + FLOWS:
            assert sender.poll() is None, "the load has ended before it flowed"
        yield
        assert sender.poll() is None, "the load ended before the measurement"
    settle(testbed, on)


def settle(testbed: Testbed, on: Script) -> None:
    """Wait until nothing is left of a load: neither in the queue, nor in what RED remembers of it.

    RED marks by the mean of the queue's length, which each packet moves by a fraction, so after a
    load it marks some packets of an idle cable.
    """
    while " 0b 0p" not in on("rx1", "tc -s qdisc show dev v0 root | grep backlog"):
        time.sleep(0.5)
    latency(testbed, on)


def received(on: Script) -> int:
    """Packets that came to rx2."""
    return int(on("rx2", "cat /sys/class/net/v1/statistics/rx_packets"))


def measure(testbed: Testbed, on: Script, depth: int) -> Window:
    """A window beside a load."""
    with load(testbed, on, depth):
        before, began = marks(on), time.monotonic()
        found = latency(testbed, on)
        window = Window(depth, found, marks(on) - before, time.monotonic() - began)
    sys.stdout.write(f"{window}\n")
    return window


def marks(on: Script) -> int:
    """Marked packets that came to rx2, as its kernel counts them."""
    return int(on("rx2", "grep -w Ip6InCEPkts /proc/net/dev_snmp6/v1").split()[1])


def exported(on: Script) -> float:
    """The same, as the exporter tells it."""
    (told,) = parse(on("rx2", f"{SCRIPT} now ports"), "rx2")
    snapshot = snapshot_of(told)
    (found,) = [each.value for each in of_snapshot(snapshot) if each.family.name == MARKED]
    return found


# RED begins to mark at 10 packets in the queue, and marks all from 28 on.
DEPTHS = (0, 12, 16, 0, 20, 24, 0, 28)


def test_marks_and_latency_rise_together(rdma_testbed: Testbed, on: Script) -> None:
    testbed = rdma_testbed
    faults.inject(testbed.files, "rx1", ["red", "2mbit"])
    try:
        windows = [measure(testbed, on, depth) for depth in DEPTHS]
        idle = [each for each in windows if not each.depth]
        deepest = windows[-1]
        ratio = deepest.latency / median(each.latency for each in idle)
        together = spearmanr([w.rate for w in windows], [w.latency for w in windows]).statistic
        sys.stdout.write(f"ratio of p50 {ratio:.0f}, Spearman {together:.2f}\n")
        assert [each.marks for each in idle] == [0, 0, 0], "an idle cable marks nothing"
        assert deepest.marks > 0
        assert ratio > 10
        assert together > 0.8
        # What stands in the queue still comes.
        counted, told = -1, 0.0
        while counted != marks(on):
            counted = marks(on)
            told = exported(on)
        assert told == counted > 0
    finally:
        faults.clear(testbed.files, "rx1")
