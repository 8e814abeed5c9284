"""rdma_stream on the guest's two nodes, started by Slurm."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.bench.conftest import build

from fabricheck.measures import program_result
from fabricheck.programs.rdma_stream import read as rdma_stream
from fabricheck.transports.settings import Ports, settings
from fabricheck_testbed import Testbed
from fabricheck_testbed.guest.devices import cable

SECONDS = 200.0
FEW = ("--nmsg", "300", "--num-cmsgs", "10", "--gid-index", "1")
TURNS = ("--num-blks", "4")
# A receiver without a free slot drops what nobody repeats: the slots are as many as the messages,
# so that one which waits for a core drops none. With TURNS a wait of 40 ms is a loss. A fifth of
# the time-out is what the network has for the last ones.
UNHURRIED = ("--num-blks", "30", "--send-delay", "1000", "--timeout", "30")
# Each packet is a message, so that one that is dropped is one that is missed.
SINGLE = ("--msg-size", "4096", *UNHURRIED)
RUNS = [
    (("rx1", "rx2"), ("--msg-size", "65536", *TURNS)),
    (("rx1", "rx2"), ("--test", "increment", "--msg-size", "8192", *TURNS)),
    # Who polls in an emulator waits for the kernel's threads.
    (("rx1", "rx2"), ("--poll-cq-mode", "polling", "--msg-size", "4096", "--nmsg", "20", *TURNS)),
    # The test of what is lost has the same without its loss.
    pytest.param(("rx1", "rx2"), ("--qp-type", "uc", *SINGLE), marks=pytest.mark.lab),
    (("rx1", "rx2"), ("--qp-type", "ud", "--msg-size", "2048", *UNHURRIED)),
    (("rx1", "rx2", "rx2"), ("--nlink", "2", "--msg-size", "4096", *TURNS)),
]
REFUSED = {
    ("--dev", "mlx5_9"): 'option --dev: unknown device "mlx5_9"; this machine has rxe',
    ("--gid-index", "200"): "option --gid-index: 200 of rxe",
    ("--qp-type", "ud", "--msg-size", "8192"): "a message of ud must fit into the MTU of rxe",
}


def launch(
    testbed: Testbed, place: Path, nodes: tuple[str, ...], *options: str
) -> subprocess.CompletedProcess[str]:
    """Run it with rank r on the r-th of the nodes."""
    folder = build("openmpi").folder
    if not (folder / "common" / "libbench_verbs.a").exists():
        pytest.skip("libibverbs-dev is not installed, so rdma_stream has no verbs")
    listed = place / "hosts"
    listed.write_text("".join(f"{node}\n" for node in nodes))
    variables = settings("openmpi", "tcp", Ports(devices={"tcp": "eth0"}))
    quiet = {name: text for name, text in variables.items() if not name.startswith("UCX_LOG")}
    given = {**quiet, "SLURM_HOSTFILE": str(listed)}
    return testbed.run(
        "login",
        *("env", *(f"{name}={text}" for name, text in given.items()), "srun", "--partition=rdma"),
        *(f"--ntasks={len(nodes)}", "--distribution=arbitrary"),
        *("--overcommit", "--mpi=pmix", "--kill-on-bad-exit=1"),
        *(str(folder / "rdma_stream" / "rdma_stream"), *FEW, *options),
        timeout_seconds=SECONDS,
    )


def streams(testbed: Testbed, place: Path, nodes: tuple[str, ...], *options: str):
    """The streams of a run that succeeded."""
    done = launch(testbed, place, nodes, *options, "--json", "-")
    assert done.returncode == 0, done.stdout + done.stderr
    return rdma_stream.read(program_result.read(done.stdout, "rdma_stream"))


def packets(testbed: Testbed, node: str, counter: str) -> int:
    """A counter of the node's only RDMA device."""
    path = f"/sys/class/infiniband/rxe*/ports/1/hw_counters/{counter}"
    return int(testbed.run(node, "sh", "-c", f"cat {path}").stdout)


def lost(testbed: Testbed) -> int:
    """RDMA packets that rx2 sent and rx1 did not receive, since both devices are there."""
    return packets(testbed, "rx2", "sent_pkts") - packets(testbed, "rx1", "rcvd_pkts")


def missed_lost_and_dropped(testbed: Testbed, place: Path) -> tuple[int, int, int]:
    """Messages missed over uc, RDMA packets lost meanwhile, and packets that netem dropped."""
    testbed.netem("rx2", "loss 5%")
    before = lost(testbed)
    (stream,) = streams(testbed, place, ("rx1", "rx2"), "--qp-type", "uc", *SINGLE)
    shown = testbed.run("rx2", "/sbin/tc", "-s", "-json", "qdisc", "show", "dev", cable("rx2"))
    (queue,) = [each for each in json.loads(shown.stdout) if each["kind"] == "netem"]
    return stream.missed, lost(testbed) - before, queue["drops"]
