"""The exporter below systemd: its socket, and what its units leave open."""

import socket
import subprocess
from urllib.request import urlopen

import pytest
from tests.monitor.conftest import ROOT, Suite
from tests.monitor.test_exporter import PROGRAM

pytestmark = pytest.mark.integration


def test_a_socket_of_systemd_is_taken(suite: Suite) -> None:
    suite.ran()
    with socket.socket() as passed:
        passed.bind(("127.0.0.1", 0))
        passed.listen()
        port = passed.getsockname()[1]
        script = f'exec 3<&{passed.fileno()}; LISTEN_FDS=1 exec "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", PROGRAM, "exporter", f"--reports={suite.reports}"],
            pass_fds=[passed.fileno()], stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
            assert answer.status == 200
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0


def test_the_units_of_systemd_leave_little_open() -> None:
    units = sorted((ROOT / "bin" / "systemd").glob("*.service"))
    assert len(units) == 2
    for unit in units:
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-300:] + done.stderr
