"""One traffic class of a site reaches the packets of every layer: seen in them, on the cable."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.on_testbed import rdma_streams
from tests.on_testbed.rdma_batch_ends import Ends

from fabricheck.programs.perftest.launch import perftest_options
from fabricheck.programs.rdma_batch.launch import rdma_batch_options
from fabricheck.programs.rdma_stream.launch import rdma_stream_options
from fabricheck.provenance import SUITE
from fabricheck.sites.extras import PartitionExtras
from fabricheck.sites.files import read
from fabricheck.transports.settings import ucx_settings
from fabricheck_testbed import Testbed

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guest")]

SECONDS = 120.0
CLASS = 138
"""DSCP 34 and ECT(0): the default of no layer."""
# Counts the packets to the port of RoCE v2 by the traffic class of their IP header.
SNIFFER = """
import collections, json, select, socket, sys
every = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
every.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
print("ready", flush=True)
seen = collections.Counter()
while True:
    ready, _, _ = select.select([every, sys.stdin], [], [], 0.5)
    if every in ready:
        packet = every.recv(128)
        kind, ip = packet[12:14], packet[14:]
        if kind == b"\\x86\\xdd" and ip[6] == 17 and ip[42:44] == b"\\x12\\xb7":
            seen[(ip[0] & 15) << 4 | ip[1] >> 4] += 1
        elif kind == b"\\x08\\x00" and ip[9] == 17 and ip[22:24] == b"\\x12\\xb7":
            seen[ip[1]] += 1
    elif ready:
        break
print(json.dumps(seen))
"""
Script = Callable[[str, str], str]
Layer = Callable[[Testbed, PartitionExtras, object], None]


@contextmanager
def sniffed(testbed: Testbed, seen: Counter[int]) -> Iterator[None]:
    """Count what rx1's cable carries in either direction while the block runs."""
    process = subprocess.Popen(
        testbed.command("rx1", sys.executable, "-c", SNIFFER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        found, _ = process.communicate(timeout=SECONDS)
        seen.update({int(number): count for number, count in json.loads(found).items()})


def both_ends(testbed: Testbed, server: list[str], client: list[str]) -> None:
    """A server on rx2 and its client on rx1, which is tried until the server is ready."""
    serving = subprocess.Popen(testbed.command("rx2", *server), stdout=subprocess.DEVNULL)
    try:
        for _ in range(50):
            done = testbed.run("rx1", *client, timeout_seconds=SECONDS)
            if done.returncode == 0:
                break
            time.sleep(0.2)
        assert done.returncode == 0, done.stderr
    finally:
        serving.terminate()
        serving.wait(SECONDS)


def perftest(testbed: Testbed, extras: PartitionExtras, _place: object) -> None:
    """perftest, over RC."""
    words = ["ib_send_lat", *perftest_options(extras, "RC"), "-n", "100", "--force-link=Ethernet"]
    both_ends(testbed, words, [*words, "rx2"])


def datagrams(testbed: Testbed, extras: PartitionExtras, _place: object) -> None:
    """perftest, over UD."""
    words = ["ib_send_lat", *perftest_options(extras, "UD"), "-n", "100", "--force-link=Ethernet"]
    both_ends(testbed, words, [*words, "rx2"])


def ucx(testbed: Testbed, extras: PartitionExtras, _place: object) -> None:
    """UCX, with what MPIs over UCX get."""
    partitions = read(SUITE / "sites" / "testbed.yaml")["systems"][0]["partitions"]
    site = next(dict(each["env_vars"]) for each in partitions if each["name"] == "rdma")
    given = site | ucx_settings("rc", extras.given_ports)
    variables = [f"{key}={value}" for key, value in given.items() if "LOG" not in key]
    # Debian 13's starts MPI unless its input is a terminal.
    words = ["sh", "-c", 'exec env "$@" </dev/ptmx', "sh", *variables, "ucx_perftest"]
    words += ["-t", "tag_lat", "-n", "100", "-w", "10"]
    both_ends(testbed, words, [*words, "rx2"])


def streams(testbed: Testbed, extras: PartitionExtras, place: object) -> None:
    """rdma_stream, started by Slurm."""
    assert rdma_streams.streams(
        testbed, place, ("rx1", "rx2"), *rdma_stream_options(extras, "rdma"), "--msg-size", "4096",
        *rdma_streams.TURNS,
    )  # type: ignore[arg-type]  # fmt: skip


def batches(testbed: Testbed, extras: PartitionExtras, _place: object) -> None:
    """rdma_batch."""
    ends = Ends(testbed)
    options = rdma_batch_options(extras, 1)
    wait = options.index("--wait")
    del options[wait : wait + 2]
    for end in ends.run("--all", "--sizes", "4096:4096", "--iters", "20", *options):
        assert end.code == 0, end.err


@pytest.mark.parametrize(
    ("layer", "default"),
    # Of programs on verbs one speaks for the default of all.
    [(perftest, 0), (datagrams, None), (ucx, 106), (streams, None), (batches, None)],
)
def test_a_layer_sends_in_the_class_of_the_site(
    layer: Layer, default: int | None, clean: Testbed, tmp_path: object
) -> None:
    for given, expected in ((CLASS, CLASS), (None, default)):
        if expected is None:
            continue
        seen = Counter[int]()
        with sniffed(clean, seen):
            layer(clean, PartitionExtras(gid_index=1, traffic_class=given), tmp_path)
        # On a busy machine the sniffer misses some.
        assert seen.total() > 50, seen
        (most, count), *_ = seen.most_common()
        assert (most, count / seen.total() > 0.9) == (expected, True), seen
