"""The testbed with leaves and spines: what crosses which cable, and what faults do there."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.testbed.conftest import Watch

from fabricheck_testbed import Testbed, fabric, faults
from fabricheck_testbed.records import read_record

pytestmark = pytest.mark.e2e

SECONDS = 60.0
PYTHON = (sys.executable, "-I", "-S", "-c")
# Answers each datagram, and takes in what is sent by TCP.
SERVER = """
import selectors, socket
box, stream = socket.socket(type=socket.SOCK_DGRAM), socket.create_server(("", 7000))
box.bind(("", 7000))
chooser = selectors.DefaultSelector()
for each in (box, stream):
    chooser.register(each, selectors.EVENT_READ)
print(flush=True)
while True:
    for key, _ in chooser.select():
        if key.fileobj is box:
            box.sendto(*box.recvfrom(99))
        elif key.fileobj is stream:
            chooser.register(stream.accept()[0], selectors.EVENT_READ)
        elif not key.fileobj.recv(1 << 20):
            chooser.unregister(key.fileobj)
            key.fileobj.close()
"""
# Of so many datagrams from one port after the other: how many came back, and the median of us.
PROBE = """
import socket, statistics, sys, time
to, count, ports = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
came = []
for port in range(ports):
    box = socket.socket(type=socket.SOCK_DGRAM)
    box.settimeout(0.05)
    box.bind(("", 9000 + port))
    for _ in range(count):
        begin = time.perf_counter()
        box.sendto(b"x", (to, 7000))
        try:
            box.recv(9)
            came.append(1e6 * (time.perf_counter() - begin))
        except TimeoutError:
            pass
print(len(came), statistics.median(came) if came else 0)
"""
# The rate in Mbit/s at which what is sent is taken, once the buffers are full.
STREAM = """
import socket, sys, time
out = socket.create_connection((sys.argv[1], 7000))
out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
sent, begin, block = 0, time.perf_counter(), bytes(32768)
while (took := time.perf_counter() - begin) < 0.5:
    sent += out.send(block)
print(8e-6 * sent / took)
"""


@pytest.fixture(scope="module")
def spread(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    testbed = Testbed(tmp_path_factory.mktemp("leaves") / "tb")
    servers = []
    try:
        testbed.up(fabric=fabric.LEAF_SPINE)
        servers = [serve(testbed, node) for node in ("n2", "n3", "n7")]
        yield testbed
    finally:
        for server in servers:
            server.kill()
            server.wait()
        testbed.down()


def serve(testbed: Testbed, node: str) -> subprocess.Popen[bytes]:
    command = testbed.command(node, *PYTHON, SERVER)
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert server.stdout
    server.stdout.readline()
    return server


def ask(testbed: Testbed, node: str, script: str, to: str, *words: object) -> list[float]:
    told = [fabric.address(to), *map(str, words)]
    done = testbed.run(node, *PYTHON, script, *told, timeout_seconds=SECONDS)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def sent(testbed: Testbed, host: str, interface: str) -> int:
    path = f"/sys/class/net/{interface}/statistics/tx_packets"
    return int(testbed.run(host, "cat", path, timeout_seconds=SECONDS).stdout)


def test_flows_cross_both_spines_and_none_where_they_need_not(spread: Testbed) -> None:
    def uplinks() -> list[int]:
        return [sent(spread, "leaf1", spine) for spine in fabric.SPINES]

    before = uplinks()
    # That they all miss one of two paths happens with probability 2 / 2**31.
    ports = 31
    ask(spread, "n1", PROBE, "n2", 1, ports)
    assert uplinks() == before, "n2 is at the same leaf"
    ask(spread, "n1", PROBE, "n7", 1, ports)
    crossed = [late - early for early, late in zip(before, uplinks(), strict=True)]
    assert all(crossed), "every path was hit by so many ports"
    assert sum(crossed) >= ports


@pytest.mark.parametrize("target", ["n7", "n1-to-n7"])
def test_a_slow_place_is_slow_for_those_who_pass_it(target: str, spread: Testbed) -> None:
    # No bound on a healthy rate: a busy machine has any.
    faults.inject(spread.files, target, ["rate", "8mbit"])
    try:
        (rate,) = ask(spread, "n1", STREAM, "n7")
        assert rate < 20, "buffers beside 8 Mbit/s"
        assert len(faults.active(spread.files, target)) > 0
    finally:
        faults.clear(spread.files, target)
    assert faults.active(spread.files, target) == []


def test_lost_and_late(spread: Testbed) -> None:
    def probe(count: int, *fault: str) -> list[float]:
        faults.inject(spread.files, fault[0], fault[1:])
        try:
            return ask(spread, "n1", PROBE, "n7", count, 1)
        finally:
            faults.clear(spread.files, fault[0])

    assert 0 < probe(60, "leaf4-to-n7", "loss", "50%")[0] < 60
    assert probe(3, "n1-to-n7", "loss", "100%")[0] == 0
    assert probe(3, "n1-to-n3", "loss", "100%")[0] > 0, "n7 is not the pair's"
    assert probe(60, "n1-to-leaf1", "delay", "2ms")[1] > 1500


def test_a_cable_that_is_plugged_in_again_is_used_again(spread: Testbed) -> None:
    faults.inject(spread.files, "leaf1-spine2", ["link", "down"])
    before = sent(spread, "leaf1", "spine1")
    came, _ = ask(spread, "n1", PROBE, "n7", 1, 30)
    assert sent(spread, "leaf1", "spine1") >= before + 30, "the leaf sends nothing to a dead cable"
    assert came < 30, "spine2 has no way to leaf1 any more: no protocol mends routes here"
    # Whatever of the leaf is cleared first, its routes need both.
    faults.inject(spread.files, "leaf1-spine1", ["link", "down"])
    faults.clear(spread.files, "leaf1")
    assert ask(spread, "n1", PROBE, "n7", 1, 30)[0] > came
    assert sent(spread, "leaf1", "spine1") < before + 60, "spine2 has its share again"


def test_nothing_is_left_of_a_fabric_that_was_killed(make_testbed, watch: Watch) -> None:
    before = watch.traces()
    testbed = make_testbed()
    testbed.up(nodes=3, fabric=fabric.LEAF_SPINE_LFT)
    assert "10.78.2.3 nhid 1" in testbed.run("leaf1", "ip", "route").stdout
    namespaces = watch.namespaces_of(testbed)
    assert len(namespaces) == (2 + 3 + 4) * 5, "switch, login, nodes, leaves and spines"
    testbed.kill_node("spine1")
    assert testbed.status().problems == ["spine1 is dead"]
    anchor = read_record(testbed.files.records, "switch")
    assert anchor
    anchor.kill()
    assert watch.processes_in(namespaces) == []
    testbed.down()
    assert not testbed.files.root.exists()
    assert watch.traces() == before
