"""Nodes that salloc holds, with a stand-in for it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricheck.schedulers.allocation import Allocation

pytestmark = pytest.mark.integration

GRANTS = """
shift $(($# - 3))
export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_CPUS_PER_NODE='4(x2)'
"$@"
echo given back > ended
echo 'salloc: Relinquishing job allocation 7' >&2
"""


@pytest.fixture
def salloc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def put(script: str) -> None:
        for name, text in (("salloc", script), ("squeue", "[ -e ended ] || echo RUNNING")):
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)

    return put


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_nodes_are_held_until_they_are_given_back(salloc: Callable[[str], None]) -> None:
    salloc(GRANTS)
    held = Allocation(["--partition=main"], 2, 600)
    wait_for(held.granted)
    assert (held.job, held.nodes, held.cpus) == ("7", ("n1", "n2"), "4(x2)")
    assert held.ends > time.time() + 500
    assert held.alive()
    held.release()
    assert Path("ended").exists()
    assert not held.alive()


def test_what_slurm_refuses_is_told_in_its_words(salloc: Callable[[str], None]) -> None:
    salloc("echo 'salloc: error: Invalid account' >&2; exit 1")
    held = Allocation([], 2, 600)
    wait_for(lambda: not held.alive())
    assert not held.granted()
    assert held.words() == "salloc: error: Invalid account"
    held.release()


def test_one_that_still_waits_is_withdrawn(salloc: Callable[[str], None]) -> None:
    salloc("exec sleep 600")
    held = Allocation([], 2, 600)
    assert held.alive()
    assert not held.granted()
    held.release()
    assert not held.alive()
