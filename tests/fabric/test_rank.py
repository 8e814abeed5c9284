"""What the wrapper of a rank leaves behind about the ports of its node."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fabric.conftest import Grow

from fabricheck.fabric.job import Node, read_nodes
from fabricheck.transports.witness import RANK_WRAPPER, read_witnesses, unfinished_ranks

pytestmark = pytest.mark.integration

COUNTER = "sys/class/infiniband/rxe0/ports/1/hw_counters/link_downed"


def environment(root: Path, **env: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "FABRICHECK_NODE_ROOT": str(root), **env}


def run(directory: Path, root: Path, command: Sequence[str], **env: str) -> None:
    subprocess.run(
        [RANK_WRAPPER, *command], cwd=directory, env=environment(root, **env), check=True
    )


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    (tmp_path / "stage").mkdir()
    return tmp_path / "stage"


def the_node(stage: Path) -> Node:
    (node,) = read_nodes(stage)
    return node


def test_the_first_rank_of_a_node_looks_before_and_after(grow: Grow, stage: Path) -> None:
    root = grow("rxe")
    run(stage, root, ["sh", "-c", f"echo 1 >{root / COUNTER}"], SLURM_LOCALID="0")
    node = the_node(stage)
    assert (node.before.moment, node.after.moment) == ("before", "after")
    counters = [
        {name: value for (_, name), value in snapshot.ports["rxe0:1"].counters.items()}
        for snapshot in (node.before, node.after)
    ]
    assert [values["link_downed"] for values in counters] == [0, 1]
    (witness,) = read_witnesses(stage)
    assert witness.host == node.after.host


@pytest.mark.parametrize("name", ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"])
def test_the_other_ranks_of_a_node_do_not_look(grow: Grow, stage: Path, name: str) -> None:
    # Below mpirun, Slurm's number is that of mpirun's own daemon: 0 for all ranks.
    run(stage, grow("rxe"), ["true"], **{"SLURM_LOCALID": "0", name: "1"})
    assert read_nodes(stage) == []


def test_several_runs_in_one_job_are_one(grow: Grow, stage: Path) -> None:
    root = grow("rxe")
    for value in ("1", "2"):
        run(stage, root, ["sh", "-c", f"echo {value} >{root / COUNTER}"])
    node = the_node(stage)
    rises = [snapshot.ports["rxe0:1"].counters for snapshot in (node.before, node.after)]
    assert [counters[key] for counters in rises for key in counters if "link" in key[1]] == [0, 2]


def test_a_job_that_is_ended_by_force_still_looks_after(grow: Grow, stage: Path) -> None:
    """As Slurm ends a job: TERM to the wrapper and to the program."""
    wrapper = subprocess.Popen(
        [RANK_WRAPPER, "sh", "-c", "touch started; exec sleep 60"],
        cwd=stage,
        env=environment(grow("rxe")),
        start_new_session=True,
    )
    for _ in range(600):
        if (stage / "started").exists():
            break
        time.sleep(0.1)
    os.killpg(wrapper.pid, signal.SIGTERM)
    assert wrapper.wait(timeout=60) == 128 + signal.SIGTERM
    assert the_node(stage).after.moment == "after"
    assert read_witnesses(stage) == []
    (start,) = unfinished_ranks(stage)
    assert start.rank == "0"
