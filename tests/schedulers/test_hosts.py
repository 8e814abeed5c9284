"""The list that puts each rank on its node."""

import os
import subprocess
from pathlib import Path

import pytest

from fabricheck.schedulers import HOSTS, launcher_of
from fabricheck.transports.settings import listing

pytestmark = pytest.mark.integration

PLACES = [0, 1, 1]


def ask(place: Path, *nodes: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SLURM", "PBS", "LSB", "FLUX"))
    }
    return subprocess.run(
        [HOSTS, *nodes],
        env={**clean, "PATH": f"{place}:{clean['PATH']}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def scontrol(tmp_path: Path) -> Path:
    program = tmp_path / "scontrol"
    program.write_text('#!/bin/sh\n[ "$*" = "show hostnames n[1-2]" ] && printf "n1\\nn2\\n"\n')
    program.chmod(0o755)
    return tmp_path


def test_the_nodes_are_slurms(scontrol):
    done = ask(scontrol, "0", "1", "1", SLURM_JOB_NODELIST="n[1-2]")
    assert (done.returncode, done.stdout) == (0, "n1\nn2\nn2\n")


@pytest.mark.parametrize("variable", ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE"])
def test_the_nodes_are_those_of_another_schedulers_file(tmp_path, variable):
    listed = tmp_path / "nodes"
    listed.write_text("b\nb\na\na\n")
    done = ask(tmp_path, "1", "0", **{variable: str(listed)})
    assert done.stdout == "a\nb\n"


def test_the_nodes_are_those_of_flux(tmp_path):
    program = tmp_path / "flux"
    program.write_text('#!/bin/sh\n[ "$1 $4" = "hostlist local" ] && printf "b\\na\\n"\n')
    program.chmod(0o755)
    assert ask(tmp_path, "1", "0", FLUX_JOB_ID="f7").stdout == "a\nb\n"


RANKS = {
    "Open MPI under Slurm": {"OMPI_COMM_WORLD": "RANK LOCAL_RANK SIZE", "SLURM": "PROCID"},
    "flux run": {"FLUX": "TASK_RANK TASK_LOCAL_ID JOB_SIZE"},
    "jsrun": {"JSM_NAMESPACE": "RANK LOCAL_RANK SIZE"},
    "Slurm": {"SLURM": "PROCID LOCALID NTASKS"},
}


@pytest.mark.parametrize("launcher", RANKS)
def test_ranks_know_themselves_below_each_launcher(launcher):
    (prefix, names), *others = RANKS[launcher].items()
    said = {f"{prefix}_{name}": str(place) for place, name in enumerate(names.split(), start=3)}
    said |= {f"{other}_{name}": "0" for other, name in others}
    script = f'. {HOSTS.with_name("job.sh")}; echo "$job_rank $job_local_rank $job_ranks $job"'
    assert shell(script, said).split()[:3] == ["3", "4", "5"]


def test_a_job_of_flux_has_a_number():
    script = f'. {HOSTS.with_name("job.sh")}; echo "$job"'
    found = {shell(script, {"FLUX_JOB_ID": job}).strip() for job in ("f7", "f8")}
    assert len(found) == 2
    assert all(number.isdigit() and int(number) for number in found)


def shell(script: str, environment: dict[str, str]) -> str:
    return subprocess.check_output(
        ["sh", "-c", script], env={"PATH": os.environ["PATH"], **environment}, text=True
    )


def test_a_node_that_is_not_there_is_an_error(scontrol):
    done = ask(scontrol, "0", "2", SLURM_JOB_NODELIST="n[1-2]")
    assert done.returncode == 1
    assert "expected a node 2 in the allocation, counted from 0, found only: n1 n2" in done.stderr


def test_without_a_scheduler_there_is_this_host(tmp_path):
    assert ask(tmp_path, "0").stdout.strip() == os.uname().nodename


@pytest.mark.parametrize(
    ("launcher", "family", "options"),
    [
        ("srun", "mpich", ["--ntasks=3", "--distribution=arbitrary"]),
        ("mpirun", "openmpi", ["--hostfile", "hosts.list", "--map-by", "seq"]),
        ("mpiexec", "mpich", ["-f", "hosts.list"]),
    ],
)
def test_each_launcher_has_its_way_to_take_the_list(launcher, family, options):
    found = listing(PLACES, 2, launcher_of(launcher), family)
    assert found.options == options
    assert found.commands == [f"{HOSTS} 0 1 1 >hosts.list"]
    assert (found.variables == {"SLURM_HOSTFILE": "hosts.list"}) is (launcher == "srun")


def test_one_node_needs_no_list():
    found = listing([0, 0, 0], 1, launcher_of("srun"), "openmpi")
    assert (found.commands, found.options) == ([], [])
