"""Commands in nodes, and how far nodes are apart."""

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest
from tests.waiting import wait_until

from fabricheck_testbed import Testbed
from fabricheck_testbed.errors import TestbedError

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137)]
)
def test_exit_code_is_the_commands(testbed: Testbed, script: str, code: int) -> None:
    assert testbed.run("n1", "sh", "-c", script).returncode == code


def test_command_that_is_not_there(testbed: Testbed) -> None:
    done = testbed.run("n1", "no-such-command")
    assert (done.returncode, done.stderr) == (
        127,
        "testbed: no-such-command: no such command in n1\n",
    )
    assert testbed.run("n1", "/etc/hosts").returncode == 126


def test_unknown_node_is_refused(testbed: Testbed) -> None:
    done = testbed.run("n9", "true")
    assert done.returncode == 2
    assert "has no node 'n9', only login, n1, n2, switch" in done.stderr


def test_streams_environment_and_directory_are_the_callers(
    testbed: Testbed, program: list[str], tmp_path: Path
) -> None:
    words = ["exec", f"--state-dir={testbed.files.root}", "n2", "--"]
    script = 'cat; hostname; pwd; echo "$GREETING $SLURM_CONF"'
    done = subprocess.run(
        [*program, *words, "sh", "-c", script],
        input="from outside\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "GREETING": "hello"},
    )
    conf = testbed.files.slurm_conf
    assert done.stdout == f"from outside\nn2\n{tmp_path}\nhello {conf}\n"


def test_directory_that_the_node_does_not_see(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/run")
    assert testbed.run("n1", "pwd").stdout == "/run\n"
    hidden = Path("/dev/shm") / f"testbed-test-{os.getpid()}"
    hidden.mkdir()
    try:
        monkeypatch.chdir(hidden)
        monkeypatch.setenv("TMPDIR", str(hidden))
        done = testbed.run("n1", "sh", "-c", "pwd; echo tmp=$TMPDIR")
    finally:
        hidden.rmdir()
    assert done.stdout == "/\ntmp=\n"
    assert f"the directory {hidden} is not visible in n1, starting in /" in done.stderr


def test_signals_reach_the_command(testbed: Testbed) -> None:
    script = 'trap "echo stopped; exit 3" TERM; echo ready; while :; do sleep 0.05; done'
    process = subprocess.Popen(
        testbed.command("n1", "sh", "-c", script), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    try:
        assert process.wait(10) == 3
        assert process.stdout.read() == "stopped\n"
    finally:
        process.kill()


def test_command_ends_with_its_caller(testbed: Testbed) -> None:
    process = subprocess.Popen(
        testbed.command("n1", "sh", "-c", "echo $$; exec sleep 300"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    inner = process.stdout.readline().strip()
    process.kill()
    process.wait()
    gone = ("n1", "test", "!", "-e", f"/proc/{inner}")
    wait_until(lambda: testbed.run(*gone).returncode == 0, "the end of a command with its caller")


def test_terminal_and_interrupt_key(testbed: Testbed) -> None:
    command = testbed.command("n1", "sh", "-c", "tty -s && echo on a terminal; exec sleep 300")
    pid, terminal = pty.fork()
    if pid == 0:
        # A shell that runs the tests in the background has them ignore SIGINT.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execv(command[0], command)
    seen = b""
    while b"on a terminal" not in seen:
        seen += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGINT
    os.close(terminal)


def test_nodes_are_machines_of_their_own(testbed: Testbed) -> None:
    def ask(node: str, script: str) -> str:
        return testbed.run(node, "sh", "-c", script).stdout

    boots = {ask(node, "cat /proc/sys/kernel/random/boot_id") for node in ("login", "n1", "n2")}
    own_boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    assert len(boots | {own_boot}) == 4
    assert ask("n1", "ls /sys/class/net").split() == ["eth0", "lo"]
    assert ask("n1", "cat /sys/class/net/eth0/operstate") == "up\n"
    for directory in ("/tmp", "/dev/shm", "/run"):
        path = Path(directory, f"testbed-test-{os.getpid()}")
        try:
            assert ask("n1", f"touch {path}; ls {path}") == f"{path}\n"
            assert ask("n2", f"ls {path} 2>/dev/null") == ""
            assert not path.exists()
        finally:
            path.unlink(missing_ok=True)
    assert ask("n1", "getent hosts login n2") == ("10.77.0.254     login\n10.77.0.2       n2\n")
    assert "slurmctld" not in ask("n1", "cat /proc/[0-9]*/comm")
    for node in ("n1", "n2"):
        assert ask(node, "getconf _NPROCESSORS_ONLN") == f"{os.cpu_count()}\n"


def test_shared_directories_are_the_same_everywhere(testbed: Testbed, tmp_path: Path) -> None:
    assert str(tmp_path).startswith("/tmp"), "this test is about a directory below /tmp"
    testbed.run("n1", "sh", "-c", f"hostname > {tmp_path}/written")
    assert (tmp_path / "written").read_text() == "n1\n"
    assert testbed.run("n2", "cat", f"{tmp_path}/written").stdout == "n1\n"


def reaches(testbed: Testbed, source: str, target: str) -> bool:
    script = f"import socket; socket.create_connection(('{target}', 6818), 1)"
    return testbed.run(source, "/usr/bin/env", "python3", "-c", script).returncode == 0


def test_pulled_cable(testbed: Testbed) -> None:
    assert reaches(testbed, "n1", "n2")
    testbed.link_down("n2")
    try:
        assert not reaches(testbed, "n1", "n2")
        assert testbed.run("n2", "cat", "/sys/class/net/eth0/carrier").stdout == "0\n"
    finally:
        testbed.link_up("n2")
    assert reaches(testbed, "n1", "n2")


def test_shaped_link(testbed: Testbed) -> None:
    testbed.shape("n2", "rate 100mbit burst 64kb latency 50ms")
    try:
        for node, interface in (("n2", "eth0"), ("switch", "v-n2")):
            shown = testbed.run(node, "tc", "qdisc", "show", "dev", interface).stdout
            assert "tbf" in shown
            assert "rate 100Mbit" in shown
    finally:
        testbed.unshape("n2")
    assert "tbf" not in testbed.run("n2", "tc", "qdisc", "show", "dev", "eth0").stdout
    with pytest.raises(TestbedError, match="tc qdisc add dev v-n2 root tbf nonsense"):
        testbed.shape("n2", "nonsense")
