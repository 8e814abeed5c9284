"""What the scheduler ``allocation`` needs of ReFrame and tells to its cases."""

import inspect
import re
from pathlib import Path

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.schedulers import JobScheduler
from reframe.core.schedulers.slurm import SqueueJobScheduler

from fabricheck.reframe_ext.allocation import NAME, AllocationScheduler, CaseJob
from fabricheck.schedulers.allocation import Given, inside, step_variables, without_job

ROOT = Path(__file__).parents[2]


def test_reframe_finds_the_scheduler_by_its_name() -> None:
    assert getscheduler(NAME) is AllocationScheduler
    assert not AllocationScheduler.is_local
    assert not inspect.isabstract(AllocationScheduler)


@pytest.mark.parametrize(
    "name",
    ["make_job", "submit", "poll", "finished", "wait", "cancel_many", "filternodes_by_state"],
)
def test_what_is_replaced_is_called_as_reframe_calls_it(name: str) -> None:
    """A minor version of ReFrame that calls it another way would fail in mid-night."""
    ours, theirs = (getattr(each, name) for each in (AllocationScheduler, JobScheduler))
    assert [each.kind for each in inspect.signature(ours).parameters.values()] == [
        each.kind for each in inspect.signature(theirs).parameters.values()
    ]


@pytest.mark.parametrize("name", ["emit_preamble", "cancel", "submit"])
def test_what_is_taken_over_is_there(name: str) -> None:
    assert callable(getattr(SqueueJobScheduler, name))


def test_a_job_has_what_is_read_and_set() -> None:
    job = CaseJob("case")
    for name in ("options", "time_limit", "max_pending_time", "num_tasks", "num_tasks_per_node"):
        assert hasattr(job, name), name
    assert (job.stdout, job.stderr) == ("case.out", "case.err")


def a_job(place: Path, tasks: int, per_node: int, nodes: list[str]) -> CaseJob:
    job = CaseJob("case")
    job.num_tasks, job.num_tasks_per_node = tasks, per_node
    job.launcher = getlauncher("srun").__new__(getlauncher("srun"))
    job.nodes, job.place = nodes, place
    return job


OUTER = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "n[1-4]",
    "SLURM_JOB_CPUS_PER_NODE": "4(x4)",
    "SLURM_CONF": "/etc/slurm.conf",
    "SBATCH_RESERVATION": "night",
    "PATH": "/bin",
}


def test_a_case_on_a_part_of_the_nodes_is_told_of_these(tmp_path: Path) -> None:
    held = Given(OUTER)
    job = a_job(tmp_path, 4, 2, ["n2", "n3"])
    told = step_variables(job, held)
    assert (told["SLURM_JOB_ID"], told["SLURM_JOB_NODELIST"]) == ("7", "n[2-3]")
    assert (told["SLURM_NNODES"], told["SLURM_NTASKS"]) == ("2", "4")
    assert told["SLURM_TASKS_PER_NODE"] == "2(x2)"
    assert Path(told["SLURM_HOSTFILE"]).read_text() == "n2\nn2\nn3\nn3\n"
    whole = step_variables(a_job(tmp_path, 4, 1, list(held.nodes)), held)
    assert "SLURM_HOSTFILE" not in whole


def test_nothing_of_an_outer_job_is_handed_on() -> None:
    assert inside(OUTER)
    assert not inside({"SLURM_CONF": "here"})
    assert without_job(OUTER) == {"SLURM_CONF": "/etc/slurm.conf", "PATH": "/bin"}


def test_options_of_its_own_are_no_plain_case() -> None:
    job = CaseJob("case")
    job.options = ["--nodes=3"]
    assert job.is_plain
    assert job.num_nodes == 3
    job.options = ["--nodes=3", "--reservation=night"]
    assert not job.is_plain


def test_entries_name_every_program_that_their_folder_starts() -> None:
    """``fabricheck run`` builds only what they name."""
    known = re.search(
        r"foreach\(program ([^)]+)\)", (ROOT / "src/bench/CMakeLists.txt").read_text()
    )
    assert known
    for folder in (ROOT / "src/fabricheck/programs").iterdir():
        entries = folder / "entries.py"
        if not entries.exists():
            continue
        named = re.search(r"^PROGRAMS: Final = \((.*)\)$", entries.read_text(), re.MULTILINE)
        programs = set(re.findall(r'"(\w+)"', named[1])) if named else set()
        assert programs <= set(known[1].split())
        launch = folder / "launch.py"
        text = launch.read_text() if launch.exists() else ""
        started = set(re.findall(r"programs\.program\(\"(\w+)\"\)", text))
        assert started <= programs, folder
        assert programs or "programs.program" not in text, folder
