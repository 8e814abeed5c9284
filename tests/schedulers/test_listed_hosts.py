"""Hosts without a scheduler: which of them answer, and how a command comes to each."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.waiting import wait_until

from fabricheck.schedulers import launcher_for, scheduler_of
from fabricheck.schedulers.hosts import EACH_HOST, HOSTS, Hosts, Listed

pytestmark = pytest.mark.integration

EACH = Path(EACH_HOST.on_each_node.split()[0])
JOB = EACH.with_name("job.sh")
TELLS = f'. {JOB}; echo "$job_node $job_rank/$job_ranks $job_local_rank $job $1 $PWD"'


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A remote shell without n9, which starts in another directory, without our variables."""
    program = tmp_path / "shell"
    program.write_text(
        '#!/bin/sh\n[ "$1" != n9 ] || { echo "connect to host n9: No route" >&2; exit 255; }\n'
        'shift\ncd / && exec env -i PATH="$PATH" setsid sh -c "$*"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(Hosts, "shells", dict.fromkeys(("n1", "n2", "n9"), str(program)))
    return program


def spread(place: Path, shell: Path, *words: str, told: str = "") -> subprocess.CompletedProcess:
    environment = {
        "PATH": os.environ["PATH"],
        "FABRICHECK_NODES": "n1,n2",
        "FABRICHECK_JOB": "7",
        "FABRICHECK_REMOTE_SHELL": str(shell),
    }
    return subprocess.run(
        [EACH, *words],
        cwd=place,
        env=environment,
        input=told,
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_rank_has_its_number_directory_and_words(tmp_path: Path, shell: Path) -> None:
    odd = 'it\'s "two" $HOME\nlines'
    done = spread(tmp_path, shell, "2", "sh", "-c", TELLS, "x", odd)
    said = done.stdout.replace(f" {odd} ", " odd ").splitlines()
    assert sorted(said) == [
        f"{node} {rank}/4 {rank % 2} 7 odd {tmp_path}"
        for node, rank in (("n1", 0), ("n1", 1), ("n2", 2), ("n2", 3))
    ]
    assert done.returncode == 0
    assert [each.name for each in tmp_path.iterdir()] == ["shell"]


def test_every_host_reads_the_input_and_its_exit_code_is_kept(tmp_path: Path, shell: Path) -> None:
    script = f'. {JOB}; read -r line; echo "$job_node $line"; [ "$job_node" != n2 ] || exit 5'
    done = spread(tmp_path, shell, "1", "sh", "-c", script, told="question\n")
    assert sorted(done.stdout.splitlines()) == ["n1 question", "n2 question"]
    assert done.returncode == 5
    assert spread(tmp_path, shell, "first", "sh", "-c", TELLS).stdout.startswith("n1 0/1 0 7")


def test_a_host_that_does_not_answer_is_known_by_the_last_words(shell: Path) -> None:
    assert HOSTS.node_states() == {
        "n1": "idle", "n2": "idle", "n9": "connect to host n9: No route"
    }  # fmt: skip
    assert HOSTS.silent_nodes(["n1", "n9"]) == ("n9",)
    assert not HOSTS.is_silent("")
    held = Listed(["n1", "n2", "n9"], str(shell), most=3)
    assert held.nodes == ("n1", "n2")
    assert held.silent == {"n9": "connect to host n9: No route"}
    assert Listed(["n1", "n2", "n9"], str(shell), most=1).nodes == ("n1",)


def test_launchers_of_mpis_find_the_hosts(tmp_path: Path, shell: Path) -> None:
    job = SimpleNamespace(
        place=tmp_path, nodes=["n1", "n2"], num_tasks_per_node=2, jobid="hosts/3", process=None
    )
    found = Listed(["n1", "n2"], str(shell), most=2).variables(job)
    assert Path(found["OMPI_MCA_orte_default_hostfile"]).read_text() == "n1 slots=2\nn2 slots=2\n"
    assert Path(found["HYDRA_HOST_FILE"]).read_text() == "n1:2\nn2:2\n"
    assert (found["FABRICHECK_JOB"], found["FABRICHECK_NODES"]) == ("3", "n1,n2")
    assert (found["HYDRA_LAUNCHER"], found["HYDRA_LAUNCHER_EXEC"]) == ("rsh", str(shell))
    by_ssh = Listed(["n1", "n2"], "ssh", most=2).variables(job)
    assert (by_ssh["HYDRA_LAUNCHER"], "HYDRA_LAUNCHER_EXEC" in by_ssh) == ("ssh", False)


def test_ranks_on_other_hosts_end_with_the_job(tmp_path: Path, shell: Path) -> None:
    script = f". {JOB}; echo $$ >pid.$job_node; sleep 300"
    environment = {
        **os.environ, "FABRICHECK_NODES": "n1,n2", "FABRICHECK_REMOTE_SHELL": str(shell)
    }  # fmt: skip
    process = subprocess.Popen(
        [EACH, "1", "sh", "-c", script], cwd=tmp_path, env=environment, start_new_session=True
    )
    wait_until(lambda: all((tmp_path / f"pid.n{n}").exists() for n in (1, 2)))
    pids = wait_until(lambda: " ".join(each.read_text() for each in tmp_path.glob("pid.*")).split())
    job = SimpleNamespace(place=tmp_path, process=process)
    Listed(["n1", "n2"], str(shell), most=2).signal(job, "KILL")
    assert process.wait() != 0
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "no rank is left")


@pytest.mark.parametrize(
    ("scheduler", "launcher", "without"),
    [
        ("hosts", "mpirun", "hosts"),
        ("squeue", "mpirun", "srun"),
        ("pbs", "mpiexec", "pbs_tm"),
        ("torque", "mpiexec", "mpiexec"),
        ("local", "mpirun", "mpirun"),
    ],
)
def test_what_needs_no_mpi_is_started_by_the_scheduler(
    scheduler: str, launcher: str, without: str
) -> None:
    assert launcher_for(scheduler, launcher, mpi="") == without
    assert launcher_for(scheduler, launcher, mpi="mpich") == launcher


def test_what_a_run_asks_is_said_in_the_words_of_each_scheduler() -> None:
    asked = {"nodelist": "n[1-2]", "exclude": "n3", "reservation": "maint", "account": "proj"}
    said = {
        name: [scheduler_of(name).asked(key, value) for key, value in asked.items()]
        for name in ("hosts", "pbs", "torque", "lsf", "flux", "local")
    }
    assert said == {
        "hosts": ["--nodelist=n[1-2]", "--exclude=n3", "", ""],
        "pbs": ["--nodelist=n[1-2]", "--exclude=n3", "-q maint", "-A proj"],
        "torque": ["", "", "", "-A proj"],
        "lsf": ['-m "n1 n2"', "-R \"select[hname!='n3']\"", "-U maint", "-P proj"],
        "flux": [""] * 4,
        "local": [""] * 4,
    }


def test_slurm_is_told_which_nodes_will_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of more nodes than a job has is an error to sbatch."""
    sinfo = tmp_path / "sinfo"
    sinfo.write_text("#!/bin/sh\nprintf 'n1 idle\\nn2 idle\\nn3 down*\\nn4 idle\\n'\n")
    sinfo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    slurm = scheduler_of("squeue")
    assert slurm.asked("nodelist", "n[1,4]") == "--exclude=n[2-3]"
    assert slurm.asked("nodelist", "n[1-4]") == ""
    assert slurm.asked("reservation", "maint") == "--reservation=maint"
