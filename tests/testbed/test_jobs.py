"""Slurm jobs and MPI programs on a testbed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.waiting import wait_until

from fabricheck_testbed import Testbed, status

pytestmark = pytest.mark.e2e
PMI = {"openmpi": "pmix", "mpich": "pmi2"}
# As the suite lets Open MPI run. Its own TCP (pml ob1) ended one of 570 starts beside four busy
# loops with a call of address 0 (4.1.4), and two of 14 beside two in MPI_Init (5.0.7,
# open-mpi/ompi issue 12495).
OVER_UCX = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}


def sbatch(testbed: Testbed, directory: Path, body: str, *options: str) -> str:
    script = directory / "job.sh"
    script.write_text(f"#!/bin/bash\n{body}\n")
    done = testbed.run(
        "login",
        "sbatch",
        "--parsable",
        f"--output={directory}/job.out",
        f"--error={directory}/job.err",
        *options,
        str(script),
        timeout_seconds=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def state_of(testbed: Testbed, job: str) -> str:
    shown = testbed.run("login", "scontrol", "show", "job", job).stdout
    match = re.search(r"JobState=(\S+)", shown)
    assert match, shown
    return match[1]


def settled(testbed: Testbed) -> status.TestbedStatus:
    """Its status once all nodes are idle: Slurm needs a moment after a job."""
    wait_until(
        lambda: {node.slurm_state for node in testbed.status().nodes[1:]} == {"idle"}, "idle nodes"
    )
    return testbed.status()


def wait_for_state(testbed: Testbed, job: str, states: set[str]) -> str:
    wait_until(lambda: state_of(testbed, job) in states, f"job {job} in {states}")
    return state_of(testbed, job)


AT_THE_END = re.compile(r"ucp_disconnect_nb|UCX  ERROR .*error during flush: Endpoint timeout")


@pytest.mark.parametrize("mpi", list(PMI))
def test_mpi_program_on_two_nodes(testbed: Testbed, mpi: str, tmp_path: Path) -> None:
    compiler = shutil.which(f"mpicc.{mpi}")
    if compiler is None:
        pytest.skip(f"mpicc.{mpi} is not installed")
    program = tmp_path / "hello"
    source = Path(__file__).with_name("hello.c")
    subprocess.run([compiler, str(source), "-o", str(program)], check=True, timeout=120)
    over = " ".join(f"{name}={value}" for name, value in OVER_UCX.items())
    launch = f"{over} srun --kill-on-bad-exit=1 --mpi={PMI[mpi]} --nodes=2 --ntasks=2 {program}"
    job = sbatch(testbed, tmp_path, launch, "--nodes=2", "--ntasks=2", "--time=2")
    final = wait_for_state(testbed, job, {"COMPLETED", "FAILED", "TIMEOUT"})
    # Ended, UCX waits for the other side, on busy CPUs in vain: results are whole by then.
    printed, errors = (
        [line for line in (tmp_path / name).read_text().splitlines() if not AT_THE_END.search(line)]
        for name in ("job.out", "job.err")
    )
    assert (final, errors, printed) == ("COMPLETED", [], ["world 2 on n1 n2"])


def test_cancelled_job(testbed: Testbed, tmp_path: Path) -> None:
    job = sbatch(testbed, tmp_path, "srun sleep 300", "--nodes=2")
    wait_for_state(testbed, job, {"RUNNING"})
    assert testbed.run("login", "scancel", job).returncode == 0
    assert wait_for_state(testbed, job, {"CANCELLED"}) == "CANCELLED"
    settled(testbed)


def test_dead_node_ends_its_job_as_node_fail(make_testbed, tmp_path: Path) -> None:
    testbed = make_testbed()
    testbed.up(nodes=2, shares=[tmp_path])
    work = f"srun sh -c 'touch {tmp_path}/$(hostname); exec sleep 300'"
    job = sbatch(testbed, tmp_path, work, "--nodes=2", "--time=3", "--no-requeue")
    # A node that dies before its step has begun lets srun fail, and the job with it.
    wait_until((tmp_path / "n2").exists, "the step on n2")
    testbed.kill_node("n2")
    assert "n2 is dead" in testbed.status().problems
    assert wait_for_state(testbed, job, {"NODE_FAIL"}) == "NODE_FAIL"
    states = {node.name: node.slurm_state for node in testbed.status().nodes}
    assert states["n2"] in {"down*", "down"}
