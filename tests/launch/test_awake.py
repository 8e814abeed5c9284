"""CPUs are kept awake for as long as this process lives, where that is allowed."""

import os
from pathlib import Path

from fabricheck.launch.awake import keep_awake


def test_the_device_takes_no_latency_at_all_and_stays_open(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"")
    held = keep_awake(device)
    assert held is not None
    assert (device.read_bytes(), Path(f"/proc/self/fd/{held}").resolve()) == (bytes(4), device)
    assert not os.get_inheritable(held), "a program that ReFrame starts would hold it longer"
    assert keep_awake(device) == held, "it is asked before each case"
    os.close(held)


def test_a_machine_without_it_runs_its_cases_all_the_same(tmp_path: Path) -> None:
    assert keep_awake(tmp_path / "cpu_dma_latency") is None
    assert keep_awake(tmp_path) is None
