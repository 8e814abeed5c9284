"""rdma_stream on the testbed: topologies, counted losses, and beside perftest and iperf3."""

import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fabricheck.errors import FabricheckError
from fabricheck.measures import program_result
from fabricheck.measures.metrics import Metric
from fabricheck.programs.perftest import read as perftest
from fabricheck.programs.perftest.launch import perftest_options
from fabricheck.programs.rdma_stream import read as rdma_stream
from fabricheck.programs.rdma_stream.entries import TOPOLOGIES
from fabricheck.programs.rdma_stream.launch import rdma_stream_options
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.settings import Ports, settings
from fabricheck.units import format_size
from fabricheck_testbed import Testbed, layout
from fabricheck_testbed.guest.devices import cable

DOCUMENT = "docs/reference/programs/rdma_stream.md"
ROUNDS = 9
LOSSES = 3
RATE = 100_000_000
"""Bits of payload a second that both programs of datagrams send."""
SHAPED = "rate 200mbit burst 256kb limit 4mb"
"""The link meanwhile, as tc-tbf(8) words it; and one of a tenth of their rate, which drops."""
NARROW = "rate 10mbit burst 32kb limit 64kb"

_MPI = "openmpi"
_RDMA_NODES, _HOST_NODES = ("rx1", "rx2"), ("n1", "n2")
_DEPTH = 100
_SIZE, _COUNT = 65536, 1000
_MB_OF_GBIT = 125.0
_SECONDS = 300.0
_DATAGRAMS = (8192, 65507)


class Pair(Protocol):
    """Two nodes, with what their ports need."""

    testbed: Testbed
    extras: PartitionExtras

    def program(self, name: str) -> str:
        """Path of one of our programs."""

    def run(self, runs: Sequence[Sequence[str]]) -> list[str]:
        """What the second node's end of each run printed; the first one is its server."""


def measure(pair: Pair) -> dict[str, str]:
    """The tables of the page, by name."""
    return {
        "topologies": _topologies(pair),
        "losses": _losses(pair),
        "beside-perftest": _beside_perftest(pair),
        "beside-iperf3": _beside_iperf3(pair),
        "narrow-link": _narrow_link(pair),
    }


def _stream(
    pair: Pair, nodes: Sequence[str], places: Sequence[int], *options: str
) -> list[rdma_stream.Stream]:
    """One run, started by Slurm with each rank on its node."""
    variables = settings(_MPI, "tcp", Ports(devices={"tcp": "eth0"}))
    variables = {name: text for name, text in variables.items() if not name.startswith("UCX_LOG")}
    with tempfile.TemporaryDirectory(dir=Path(pair.program("rdma_stream")).parents[1]) as place:
        listed = Path(place) / "hosts"
        listed.write_text("".join(f"{nodes[number]}\n" for number in places))
        given = {**variables, "SLURM_HOSTFILE": str(listed)}
        done = pair.testbed.run(
            "login",
            "env",
            *(f"{name}={text}" for name, text in given.items()),
            *("srun", f"--partition={'rdma' if nodes is _RDMA_NODES else 'main'}"),
            *(f"--ntasks={len(places)}", "--distribution=arbitrary", "--overcommit"),
            *("--mpi=pmix", "--kill-on-bad-exit=1"),
            *(pair.program("rdma_stream"), *options, "--json", "-"),
            timeout_seconds=_SECONDS,
        )
    if done.returncode:
        raise FabricheckError(f"expected rdma_stream to succeed, found {done.stdout}{done.stderr}")
    return rdma_stream.read(program_result.read(done.stdout, "rdma_stream"))


def _verbs(pair: Pair, *options: str) -> list[str]:
    blocks = ("--num-blks", "10", "--num-cmsgs", str(_DEPTH // 10))
    return [*blocks, *rdma_stream_options(pair.extras, "rdma"), *options]


def _topologies(pair: Pair) -> str:
    lines = [
        "| topology | streams | Gbit/s of each | missed | of |",
        "|---|---|---|---|---|",
    ]
    for name, nodes in (("T1", 2), ("T2", 2), ("T4", 1), ("T6", 2)):
        topology = TOPOLOGIES[name]
        places = topology.places(nodes)
        receivers = topology.units_on(nodes) or 0
        streams = _stream(
            pair,
            _RDMA_NODES,
            places,
            *("--nrx", str(receivers), "--nlink", str(len(places) - receivers)),
            *_verbs(pair, "--nmsg", "500"),
        )
        rates = ", ".join(f"{each.rate:.3f}" for each in streams)
        missed = sum(each.missed for each in streams)
        total = sum(each.total for each in streams)
        title = f"{name}, {topology.title}"
        lines.append(f"| {title} | {len(streams)} | {rates} | {missed} | {total} |")
    return "\n".join(lines)


def _losses(pair: Pair) -> str:
    """Messages of one packet over uc: what netem dropped is what is missed."""
    lines = ["| run | sent | missed | dropped by netem |", "|---|---|---|---|"]
    sender = _RDMA_NODES[1]
    for run in range(1, LOSSES + 1):
        pair.testbed.netem(sender, "loss 1%")
        try:
            before = _dropped(pair.testbed, sender, cable(sender), "netem")
            (stream,) = _stream(
                pair,
                _RDMA_NODES,
                (0, 1),
                *_verbs(pair, "--qp-type", "uc", "--msg-size", "4096", "--nmsg", "5000"),
                *("--send-delay", "1000"),
            )
            dropped = _dropped(pair.testbed, sender, cable(sender), "netem") - before
        finally:
            pair.testbed.clear_netem(sender)
        lines.append(f"| {run} | {stream.total} | {stream.missed} | {dropped} |")
    return "\n".join(lines)


def _dropped(testbed: Testbed, host: str, interface: str, kind: str) -> int:
    show = ("/sbin/tc", "-s", "-json", "qdisc", "show", "dev", interface, "root")
    queues = json.loads(testbed.run(host, *show).stdout)
    return sum(int(each["drops"]) for each in queues if each["kind"] == kind)


def _beside_perftest(pair: Pair) -> str:
    """SEND over rc in turns with perftest, with the same size and depth, both woken by events.

    Who polls in an emulator waits for the kernel's threads, which polling starves.
    """
    theirs, ours = [], []
    for _ in range(ROUNDS):
        theirs.append(_perftest(pair))
        (stream,) = _stream(
            pair,
            _RDMA_NODES,
            (0, 1),
            *_verbs(pair, "--msg-size", str(_SIZE), "--nmsg", str(_COUNT)),
        )
        ours.append(stream.rate * _MB_OF_GBIT)
    other, own = statistics.median(theirs), statistics.median(ours)
    return (
        "| size | ib_send_bw -e MB/s | rdma_stream MB/s | ratio |\n|---|---|---|---|\n"
        f"| {format_size(_SIZE)} | {other:.4g} | {own:.4g} | {own / other:.3f} |"
    )


def _perftest(pair: Pair) -> float:
    options = perftest_options(pair.extras, "RC")
    amount = ("-s", str(_SIZE), "-n", str(_COUNT))
    depth = ("-t", str(_DEPTH), "-r", str(_DEPTH), "-Q", str(_DEPTH // 10))
    curve = perftest.parse_runs(
        pair.run([("ib_send_bw", *options, *amount, *depth, "-e")]), "ib_send_bw"
    )
    return curve.points[0].values[Metric.BANDWIDTH, "avg"]


def _beside_iperf3(pair: Pair) -> str:
    """Datagrams between two nodes of one machine, each program at the same pace."""
    iperf3 = shutil.which("iperf3")
    if iperf3 is None:
        raise FabricheckError("expected iperf3 on PATH, found none: apt-get install iperf3")
    pair.testbed.shape(_HOST_NODES[0], SHAPED)
    try:
        return _datagrams(pair, iperf3)
    finally:
        pair.testbed.unshape(_HOST_NODES[0])


def _datagrams(pair: Pair, iperf3: str) -> str:
    lines = [
        "| datagram | asked Mbit/s | iperf3 Mbit/s | lost | rdma_stream Mbit/s | missed | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in _DATAGRAMS:
        count = 3 * RATE // (8 * size)
        delay = 8e6 * size / RATE
        other, lost = _iperf3(pair.testbed, iperf3, size)
        (stream,) = _stream(
            pair,
            _HOST_NODES,
            (0, 1),
            *("--method", "udp", "--dev", "eth0", "--msg-size", str(size), "--nmsg", str(count)),
            *("--send-delay", f"{delay:.3f}"),
        )
        own = stream.rate * 1000
        lines.append(
            f"| {size} | {RATE / 1e6:.0f} | {other:.2f} | {lost} | {own:.2f} | {stream.missed} | "
            f"{own / other:.3f} |"
        )
    return "\n".join(lines)


def _narrow_link(pair: Pair) -> str:
    """Datagrams of one packet over a link that is too slow: what its queue drops is missed."""
    lines = ["| run | sent | missed | dropped by tbf |", "|---|---|---|---|"]
    receiver = _HOST_NODES[0]
    size = 1400
    for run in range(1, LOSSES + 1):
        pair.testbed.shape(receiver, NARROW)
        try:
            before = _dropped(pair.testbed, layout.SWITCH, layout.switch_port(receiver), "tbf")
            (stream,) = _stream(
                pair,
                _HOST_NODES,
                (0, 1),
                *("--method", "udp", "--dev", "eth0", "--msg-size", str(size), "--nmsg", "5000"),
                *("--send-delay", str(8e6 * size / RATE)),
            )
            after = _dropped(pair.testbed, layout.SWITCH, layout.switch_port(receiver), "tbf")
        finally:
            pair.testbed.unshape(receiver)
        lines.append(f"| {run} | {stream.total} | {stream.missed} | {after - before} |")
    return "\n".join(lines)


def _iperf3(testbed: Testbed, iperf3: str, size: int) -> tuple[float, int]:
    """Mbit/s that arrived, and datagrams lost."""
    receiver, sender = _HOST_NODES
    server = subprocess.Popen(
        testbed.command(receiver, iperf3, "--server", "--one-off"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        done = testbed.run(
            sender,
            *("sh", "-c", 'for _ in 1 2 3 4 5; do sleep 1; "$@" && exit; done; exit 1', "iperf3"),
            *(iperf3, "--client", receiver, "--udp", "--bitrate", str(RATE), "--json"),
            *("--length", str(size), "--time", "3"),
            timeout_seconds=_SECONDS,
        )
        server.wait(timeout=_SECONDS)
    finally:
        server.kill()
    if done.returncode:
        raise FabricheckError(f"expected iperf3 to succeed, found {done.stdout}{done.stderr}")
    end = json.loads(done.stdout[done.stdout.index("{") :])["end"]
    return end["sum_received"]["bits_per_second"] / 1e6, int(end["sum"]["lost_packets"])
