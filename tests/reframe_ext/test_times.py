"""Where the seconds of a case go."""

import os
import subprocess
from pathlib import Path

import pytest

from fabricheck.launch.times import LOOK, script_end, times
from fabricheck.transports.witness import RANK_WRAPPER


def witness(stage: Path, rank: int, ran: str) -> None:
    facts = f"rank {rank}\nhost n1\nallocation n1\ncpus 0\nbelow_ports\nipoib\ndevice\nran {ran}\n"
    (stage / f"witness.{rank}").write_text(f"{facts}exit 0\n")


def test_waiting_launch_and_measuring_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "clock.txt").write_text("1000.5\n1004.0\n")
    witness(tmp_path, 0, "50.0 52.0")
    witness(tmp_path, 1, "50.5 51.0")
    assert times(tmp_path, 998.0) == {"waiting": 2.5, "launch": 1.5, "measuring": 2.0}
    assert script_end(tmp_path) == 1004.0


def test_a_script_that_was_cut_off_has_only_waited(tmp_path: Path) -> None:
    assert times(tmp_path, 998.0) == {}
    (tmp_path / "clock.txt").write_text("1000.5\n")
    assert times(tmp_path, 998.0) == {"waiting": 2.5}
    assert script_end(tmp_path) is None


def test_clocks_that_disagree_give_no_negative_time(tmp_path: Path) -> None:
    (tmp_path / "clock.txt").write_text("1000\n1001\n")
    assert times(tmp_path, 1005.0) == {"waiting": 0.0, "launch": 0.0, "measuring": 1.0}


@pytest.mark.integration
def test_a_script_and_its_rank_say_when_they_began_and_ended(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("\n".join(["#!/bin/bash", *LOOK, f"{RANK_WRAPPER} sleep 0.2", "(exit 3)"]))
    ended = subprocess.run(["bash", script], cwd=tmp_path, env={**os.environ}, check=False)
    assert ended.returncode == 3, "the look at the clock leaves the exit code as it is"
    found = times(tmp_path, None)
    assert found.keys() == {"waiting", "launch", "measuring"}
    assert found["measuring"] > 0
