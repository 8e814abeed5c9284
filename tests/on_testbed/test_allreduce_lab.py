"""The allreduce lab on nodes: links of their own, a tail that is reached, a Redis of the job's."""

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.bench.conftest import build

from fabricheck.programs.allreduce_lab import launch
from fabricheck_testbed import Testbed

pytestmark = pytest.mark.e2e

FOLDER = Path(launch.__file__).parent
TIMEOUT = 300
# Seconds: a link of 20 Mbit/s carries 64 KiB in 26 ms.
SLOW = 0.020


def behind_links(testbed: Testbed, folder: Path, *words: str) -> dict[str, Any]:
    """What two ranks tell, each behind a link of 20 Mbit/s of its own."""
    program = build("openmpi").of("allreduce_lab").program
    before = testbed.run("n1", "ip", "-brief", "address").stdout
    # A burst, or other work on this machine, may take a whole bucket, which is no error here.
    common = ["--size", "2", "--shared-path", str(folder), "--elements", "16384", "--timeout", "60",
              "--halt-loss", "100", "--json", str(folder / "x.json"), *words,
              "ring", "optireduce"]  # fmt: skip
    ranks = [
        subprocess.Popen(
            testbed.command(
                f"n{rank + 1}", str(FOLDER / "shaped_link.sh"), "20", str(program), "--rank",
                str(rank), *common,
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    errors = [each.communicate(timeout=TIMEOUT)[1] for each in ranks]
    assert [each.returncode for each in ranks] == [0, 0], errors
    assert testbed.run("n1", "ip", "-brief", "address").stdout == before
    assert testbed.run("n1", "cat", "/proc/sys/net/ipv4/ip_forward").stdout == "0\n"
    document: dict[str, Any] = json.loads((folder / "x.json").read_text())
    return document


def test_sums_go_through_slow_links_that_leave_nothing(testbed: Testbed, tmp_path: Path):
    document = behind_links(testbed, tmp_path, "--iteration-count", "10")
    # None of the nodes' own links was used. A rank that comes late finds part of its data there
    # already, so no single iteration tells.
    assert all(result["time"]["p50"] > SLOW for result in document["results"])


@pytest.mark.lab
def test_a_tail_is_made_behind_slow_links(testbed: Testbed, tmp_path: Path):
    words = ("--tail", "3", "--iteration-count", "50", "--calibration", "20", "--realtime")
    document = behind_links(testbed, tmp_path, *words)
    assert 3 * 0.85 <= document["environment"]["tail"] <= 3 * 1.15


def redis(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [FOLDER / "redis.sh", *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def test_redis_is_the_jobs_own_and_ends_with_it(tmp_path: Path):
    done = redis(tmp_path, "start", "lo")
    assert done.returncode == 0, done.stderr
    place = tmp_path / "redis.env"
    told = dict(line.split("=") for line in place.read_text().splitlines())
    try:
        assert place.stat().st_mode & 0o777 == 0o600
        with socket.create_connection((told["host"], int(told["port"]))) as connection:
            connection.sendall(b"PING\r\n")
            assert connection.recv(64).startswith(b"-NOAUTH")
            connection.sendall(f"AUTH {told['export REDISCLI_AUTH']}\r\n".encode())
            assert connection.recv(64) == b"+OK\r\n"
    finally:
        assert redis(tmp_path, "stop").returncode == 0
    assert not place.exists()


def test_a_port_that_is_taken_is_told_to_every_rank(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        limits = {"FABRICHECK_REDIS_PORT": port, "FABRICHECK_REDIS_LAST": port}
        done = redis(tmp_path, "start", "lo", **limits)
    assert done.returncode == 1
    assert "redis.sh: expected a Redis at 127.0.0.1, found: " in done.stderr
    assert "Address already in use" in done.stderr
    rank = subprocess.run(
        [FOLDER / "rank.sh", "0", "true"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert rank.returncode == 2
    assert rank.stderr == done.stderr
    assert "no IPv4" in redis(tmp_path, "start", "none0").stderr.replace("an IPv4", "no IPv4")
