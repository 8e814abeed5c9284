"""The guest with the RDMA devices, in a running testbed; one boots for all these tests."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.testbed.test_jobs import settled
from tests.waiting import wait_until

from fabricheck_testbed import Testbed, faults
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.layout import PARTITIONS_VARIABLE

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guest")]
SECONDS = 300.0
OVER_RC = {
    "UCX_TLS": "rc,self",
    "UCX_IB_GID_INDEX": "1",
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
    "MPIR_CVAR_NOLOCAL": "1",
}


Script = Callable[[str, str], str]


def test_two_more_nodes_in_a_partition_of_their_own(rdma_testbed: Testbed, on: Script) -> None:
    found = settled(rdma_testbed)
    assert found.problems == []
    assert [(node.name, node.slurm_state, node.address) for node in found.nodes[1:]] == [
        ("n1", "idle", "10.77.0.1"),
        ("rx1", "idle", "10.77.0.201"),
        ("rx2", "idle", "10.77.0.202"),
    ]
    assert found.guest is not None
    assert found.guest.answers
    assert 0 < (found.guest.memory_mb or 0) < found.guest.memory_limit_mb + 512
    assert on("login", "sinfo -h -p rdma -o '%N %f %T'") == "rx[1-2] rdma idle\n"
    assert on("login", f"echo ${PARTITIONS_VARIABLE}") == "main rdma\n"
    assert on("n1", "getent hosts rx2") == "10.77.0.202     rx2\n"


@pytest.mark.parametrize(
    ("node", "device", "gid"), [("rx1", "rxe0", "000a"), ("rx2", "rxe1", "000b")]
)
def test_each_node_sees_its_own_device_only(node: str, device: str, gid: str, on: Script) -> None:
    assert on(node, "hostname; ls /sys/class/infiniband") == f"{node}\n{device}\n"
    port = f"/sys/class/infiniband/{device}/ports/1"
    automatic, ours = on(node, f"cat {port}/gids/0 {port}/gids/1").split()
    assert automatic.startswith("fe80:0000:0000:0000:")
    assert ours == f"fe80:0000:0000:0000:0000:0000:0000:{gid}"
    assert on(node, f"cat {port}/state") == "4: ACTIVE\n"
    assert len(on(node, "ls /dev/infiniband/uverbs* /sys/class/infiniband_verbs -d").split()) == 2
    assert on(node, "ls /dev/infiniband | grep -c uverbs") == "1\n"
    assert on(node, "ulimit -l") == "unlimited\n"


def test_nodes_are_machines_to_those_who_compare(on: Script) -> None:
    ids = {on(node, "cat /proc/sys/kernel/random/boot_id") for node in ("guest", "rx1", "rx2")}
    assert len(ids) == 3
    assert len({on(node, "readlink /proc/self/ns/ipc") for node in ("rx1", "rx2")}) == 2
    on("rx1", "touch /tmp/mine /dev/shm/mine")
    assert "mine" not in on("rx2", "ls /tmp /dev/shm")


def test_exec_is_as_in_other_nodes(rdma_testbed: Testbed, tmp_path: Path) -> None:
    def run(*command: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            rdma_testbed.command("rx1", *command),
            capture_output=True,
            check=False,
            cwd=tmp_path,
            timeout=SECONDS,
            **options,
        )

    assert run("sh", "-c", "exit 3").returncode == 3
    assert run("sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    missing = run("no-such-program")
    assert missing.returncode == 127
    assert b"no-such-program: no such command in rx1" in missing.stderr
    both = run("sh", "-c", 'pwd; echo "$GREETING" >&2', env={**os.environ, "GREETING": "good day"})
    assert (both.stdout, both.stderr) == (f"{tmp_path}\n".encode(), b"good day\n")
    data = os.urandom(3_000_000)
    assert run("cat", input=data).stdout == data
    assert run("true", input=data).returncode == 0, "a command need not read its input"
    assert run("sh", "-c", "sleep 60 & echo done").stdout == b"done\n"
    assert run("cat", preexec_fn=lambda: os.close(0)).returncode == 0, "nor does it need one"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_command_ends_with_its_caller(
    number: signal.Signals, rdma_testbed: Testbed, on: Script
) -> None:
    mark = f"30{number:02}"
    process = subprocess.Popen(rdma_testbed.command("rx2", "sleep", mark))
    wait_until(lambda: on("rx2", f"pgrep -fc '^sleep {mark}' || true") == "1\n", "its start")
    process.send_signal(number)
    code = process.wait(SECONDS)
    assert code == (-number if number is signal.SIGKILL else 128 + number)
    wait_until(lambda: on("rx2", f"pgrep -fc '^sleep {mark}' || true") == "0\n", "its end")


def test_a_terminal_is_passed_on(rdma_testbed: Testbed) -> None:
    script = shutil.which("script")
    if script is None:
        pytest.skip("script(1) is not installed")
    inner = "stty size; tty"
    command = " ".join([*map(quoted, rdma_testbed.command("rx1", "sh", "-c", inner))])
    done = subprocess.run(
        [
            script,
            "--quiet",
            "--return",
            "--command",
            f"stty rows 33 cols 77; {command}",
            "/dev/null",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert "33 77" in done.stdout
    assert "/dev/pts/" in done.stdout


def quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


# A small program of the kind that the guards of RDMA run, without the suite.
@pytest.mark.lab
@pytest.mark.parametrize(("mpi", "pmi"), [("openmpi", "pmix"), ("mpich", "pmi2")])
def test_mpi_over_rc_in_a_job_whose_directory_is_here(
    mpi: str, pmi: str, rdma_testbed: Testbed, on: Script, tmp_path: Path
) -> None:
    compiler = shutil.which(f"mpicc.{mpi}")
    if compiler is None:
        pytest.skip(f"mpicc.{mpi} is not installed")
    source = Path(__file__).with_name("hello.c")
    subprocess.run([compiler, str(source), "-o", str(tmp_path / "hello")], check=True, timeout=300)
    sent = "cat /sys/class/infiniband/*/ports/1/hw_counters/sent_pkts"
    before = [int(on(node, sent)) for node in ("rx1", "rx2")]
    exports = " ".join(f"{name}={value}" for name, value in OVER_RC.items())
    (tmp_path / "job.sh").write_text(
        f"#!/bin/bash\nexport {exports}\nulimit -l\nsrun --mpi={pmi} {tmp_path}/hello\n"
    )
    sbatch = ["sbatch", "--wait", "--partition=rdma", "--nodes=2", "--ntasks=2", "--time=5"]
    outputs = [f"--output={tmp_path}/job.out", f"--error={tmp_path}/job.err"]
    done = rdma_testbed.run(
        "login", *sbatch, *outputs, str(tmp_path / "job.sh"), timeout_seconds=SECONDS
    )
    assert done.returncode == 0, (tmp_path / "job.err").read_text()
    assert (tmp_path / "job.out").read_text() == "unlimited\nworld 2 on rx1 rx2\n"
    after = [int(on(node, sent)) for node in ("rx1", "rx2")]
    assert all(late > early for early, late in zip(before, after, strict=True)), (before, after)


def test_faults_come_and_go(clean: Testbed, on: Script) -> None:
    files = clean.files
    clean.netem("rx1", "delay 2ms reorder 25% 50%")
    clean.netem("rx1", "loss 10% ecn")
    (queue,) = faults.active(files, "rx1")
    assert queue.startswith("v0 in rx1: netem ")
    assert queue.endswith("loss 10% ecn"), "nothing of the fault before stays"
    assert faults.active(files, "rx2") == []
    faults.inject(files, "rx1", ["red", "20mbit"])
    slow, marks = faults.active(files, "rx1")
    assert slow.startswith("v0 in rx1: tbf rate 20Mbit ")
    assert marks.startswith("v0 in rx1: red limit ")
    assert " ecn" in marks
    clean.set_mtu("rx2", 1500)
    assert faults.active(files, "rx2") == ["v1 in rx2: MTU 1500"]
    gids = "cat /sys/class/infiniband/*/ports/1/gids/[01]"
    before = on("rx1", gids)
    clean.link_down("rx1")
    assert "v0 in rx1: down" in faults.active(files, "rx1")
    state = "cat /sys/class/infiniband/*/ports/1/state"
    wait_until(lambda: on("rx1", state) == "1: DOWN\n", "a port that is down")
    clean.clear_netem("rx1")
    clean.clear_faults("rx1")
    clean.clear_faults("rx2")
    assert [faults.active(files, node) for node in ("rx1", "rx2")] == [[], []]
    wait_until(lambda: on("rx1", gids) == before, "both GIDs at their places")
    wait_until(lambda: on("rx1", state) == "4: ACTIVE\n", "an active port")


LETTER = """
import socket
v0, v1 = (socket.if_nametoindex(name) for name in ("v0", "v1"))
inbox, outbox = (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(2))
inbox.bind(("fe80::b", 7777, 0, v1))
inbox.settimeout(5)
outbox.bind(("fe80::a", 0, 0, v0))
outbox.sendto(b"came", ("fe80::b", 7777, 0, v0))
try:
    print(inbox.recv(9).decode())
except TimeoutError:
    print("lost")
"""


def test_lost_packets_are_lost(clean: Testbed) -> None:
    def letter() -> str:
        return clean.run("rx1", sys.executable, "-I", "-S", "-c", LETTER).stdout

    clean.netem("rx1", "loss 100%")
    assert letter() == "lost\n"
    clean.clear_netem("rx1")
    assert letter() == "came\n"


def test_faults_on_the_command_line(clean: Testbed, program: list[str]) -> None:
    def fault(*words: str) -> subprocess.CompletedProcess[str]:
        command = [*program, "fault", "--state-dir", str(clean.files.root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)

    assert fault("rx2", "loss", "2%").stdout == "v1 in rx2: netem limit 1000 loss 2%\n"
    assert fault("rx2", "clear").stdout == "rx2 has no fault.\n"
    assert (
        "tbf rate 100Mbit"
        in fault("n1", "rate", "100mbit", "burst", "64kb", "latency", "50ms").stdout
    )
    assert "v-n1 in switch: down" in fault("n1", "link", "down").stdout
    assert fault("n1", "clear").stdout == "n1 has no fault.\n"
    for words, complaint in (
        (
            ("n1", "corrupt", "2%"),
            "netem (corrupt 2%) is for the guest's nodes, such as rx1: n1 runs on this machine",
        ),
        (("n1", "red", "20mbit"), "red is for the guest's nodes, such as rx1: n1"),
        (("rx1", "red", "much"), 'illegal value for "rate": "much"'),
        (("rx1", "loss", "much"), "Unknown loss parameter: much"),
        (("rx1", "rust"), "expected a fault (loss, delay, reorder"),
        (("rx9", "list"), "has no node 'rx9'"),
    ):
        done = fault(*words)
        assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr


def test_up_again_shows_the_guest_what_has_changed_here(rdma_testbed: Testbed, on: Script) -> None:
    # Outside of what the guest may write, it keeps what it has read.
    directory = Path(f"/var/tmp/testbed-{os.getpid()}")
    directory.mkdir()
    try:
        (directory / "a").write_text("old")
        assert on("rx1", f"cat {directory}/a; ls {directory}/b || true") == "old"
        (directory / "a").write_text("new words")
        (directory / "b").touch()
        assert rdma_testbed.up().already_running
        assert on("rx1", f"cat {directory}/a; ls {directory}/b") == f"new words{directory}/b\n"
        refused = rdma_testbed.run("rx1", "touch", str(directory / "c"))
        assert "Read-only file system" in refused.stderr
    finally:
        shutil.rmtree(directory)


def test_changed_options_are_refused(
    rdma_testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TestbedError, match="it runs with --rdma: take it down first"):
        rdma_testbed.up(rdma=False)
    monkeypatch.chdir("/etc")
    with pytest.raises(TestbedError, match=r"its guest \(rx1, rx2\) cannot write to /etc"):
        rdma_testbed.up(rdma=True)
    assert rdma_testbed.status().problems == []
