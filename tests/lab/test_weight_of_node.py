"""What ``fabricheck node`` costs on a node of eight cards: it runs before every job."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.node_health.test_optics import QSFP
from tests.node_health.trees import grow, plug, write

pytestmark = pytest.mark.lab

CARDS, COUNTERS, RUNS = 8, 77, 5


def test_it_takes_half_a_second_of_one_core_and_little_memory(tmp_path: Path) -> None:
    grow(tmp_path, CARDS)
    link = "x16@32.0 x16@32.0"
    for card in range(CARDS):
        port = f"sys/class/infiniband/mlx5_{card}/ports/1"
        there = [*(tmp_path / port).glob("*counters/*")]
        for number in range(COUNTERS - len(there)):
            write(tmp_path, f"{port}/hw_counters/more_{number}", "0\n")
        write(tmp_path, f"module/enp{33 + card}s0f0np0", QSFP)
        plug(
            tmp_path,
            f"mlx5_{card}",
            f"0000:20:{card:02x}.0 {link}",
            f"0000:{33 + card}:00.0 {link}",
        )
    variables = {**os.environ, "FABRICHECK_NODE_ROOT": str(tmp_path)}
    # An installation has its modules compiled; here the first run does it, and is not the least.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    variables["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")
    # The least of some runs: what other work does to the caches is no cost of this one.
    wall, cpu = map(min, zip(*(cost(variables) for _ in range(RUNS)), strict=True))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert wall <= 5, f"{wall:.2f} s"
    assert cpu <= 0.5, f"{cpu:.2f} s of CPU"
    assert memory <= 60 << 10, f"{memory} KiB"


def cost(variables: dict[str, str]) -> tuple[float, float]:
    """Seconds of one run: on the wall, and of CPU with what it starts."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [Path(sys.executable).with_name("fabricheck"), "node"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    assert (done.returncode, done.stderr) == (0, "")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
