import os
import subprocess
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.transports.witness import (
    RANK_WRAPPER,
    read_witness,
    read_witnesses,
    unfinished_ranks,
)


def run_rank(directory: Path, rank: int, *command: str, **env: str) -> int:
    return subprocess.run(
        [RANK_WRAPPER, *command],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "PMI_RANK": str(rank), **env},
        check=False,
    ).returncode


def test_the_wrapper_witnesses_a_rank(tmp_path: Path) -> None:
    assert run_rank(tmp_path, 1, "true", FABRICHECK_PIN="cyclic") == 0
    assert run_rank(tmp_path, 0, "false") == 1
    first, second = read_witnesses(tmp_path)
    assert (first.rank, first.exit_code) == (0, 1)
    assert (second.rank, second.exit_code) == (1, 0)
    assert second.cpus == str(1 % os.cpu_count())  # type: ignore[operator]
    assert ("netdev", "lo", "rx_bytes") in second.moved
    assert first.below_ports == second.below_ports == frozenset()


def test_a_rank_that_never_ends_is_named(tmp_path: Path) -> None:
    run_rank(tmp_path, 3, "sh", "-c", "kill -9 $PPID")
    assert read_witnesses(tmp_path) == []
    assert str(unfinished_ranks(tmp_path)[0]).startswith("rank 3 on ")


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_damaged_witness_is_refused(tmp_path: Path, cut: int) -> None:
    run_rank(tmp_path, 0, "true")
    path = tmp_path / "witness.0"
    path.write_text(path.read_text()[:cut])
    with pytest.raises(FabricheckError, match=r"witness\.0"):
        read_witness(path)
