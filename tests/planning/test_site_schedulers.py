"""What runs below each scheduler and launcher: the same words from ``site check`` and ``plan``."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.backends import getlauncher
from reframe.core.schedulers import Job
from reframe.core.schedulers.local import LocalJobScheduler
from tests.planning.test_site import remarks
from tests.refusals import refused

from fabricheck.planning import plan
from fabricheck.planning.site_check import Effect
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.reframe_ext.nodes import EveryNode, lacking_of_scheduler
from fabricheck.runner.sweep import made
from fabricheck.schedulers import LAUNCHERS, SCHEDULERS, scheduler_of

OF_MPIS = {"mpirun", "mpiexec"}
HEALTH, SWEEP, STRESS = "checks of health", "fabricheck sweep", "fabricheck stress"
RUNS: dict[str, tuple[set[str], set[str]]] = {
    "local": (OF_MPIS, set()),
    **dict.fromkeys(("slurm", "squeue", "allocation"), ({"srun", *OF_MPIS}, set())),
    "hosts": (OF_MPIS, {STRESS}),
    **dict.fromkeys(("openpbs", "pbs", "pbspro"), (OF_MPIS, {SWEEP, STRESS})),
    **dict.fromkeys(("torque", "lsf", "flux"), (OF_MPIS, {HEALTH, SWEEP, STRESS})),
}
"""Of each scheduler, the launchers that start ranks of an MPI in its jobs, and what can't run."""

NEEDS = {"hosts": {"hosts": ["n1"]}, "allocation": {"allocation": {"nodes": 2, "time": "1h"}}}
"""Extras without which a site is refused."""

EVERY = sorted({*LAUNCHERS, *OF_MPIS})


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sites").mkdir()
    monkeypatch.setattr("shutil.which", lambda name: name)
    return tmp_path


def said_of(suite: Path, scheduler: str, launcher: str) -> dict[str, Effect]:
    environment = {"mpi_family": "openmpi", "pmi": "pmix"}
    extras = NEEDS.get(scheduler, {})
    return remarks(
        suite, scheduler=scheduler, launcher=launcher, extras=extras, env_extras=environment
    )


def test_the_table_has_every_row() -> None:
    assert set(RUNS) == set(SCHEDULERS)


@pytest.mark.parametrize("scheduler", RUNS)
def test_every_check_runs_or_the_reason_is_told(
    suite: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    starting, cannot = RUNS[scheduler]
    for launcher in EVERY:
        found = said_of(suite, scheduler, launcher)
        wrong = [
            words
            for words, effect in found.items()
            if effect is Effect.WRONG and ("is not for jobs of" in words or "own: take" in words)
        ]
        assert bool(wrong) == (launcher not in starting), (launcher, found)
        told = {words.rpartition("cannot run: ")[2] for words in found if "cannot run: " in words}
        assert {words.partition(",")[0] for words in told} == cannot, found

    monkeypatch.setattr(plan, "read_cases", lambda *_: [])
    remarked = plan.make(suite, "hpc").remarks
    planned = {words.rpartition("cannot run: ")[2] for words in remarked}
    assert planned == told


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ("torque", "torque was not tested, only Slurm, OpenPBS"),
        ("lsf", "-nnodes, which only LSF with IBM's CSM takes"),
    ],
)
def test_what_was_not_seen_is_told(suite: Path, scheduler: str, words: str) -> None:
    found = said_of(suite, scheduler, "mpirun")
    assert [effect for said, effect in found.items() if words in said] == [Effect.WEAKER]


@pytest.mark.integration
def test_srun_below_local_would_start_as_many_ranks_as_the_allocation_has(suite: Path) -> None:
    """Inside ``salloc`` too: nothing of a case's ranks and nodes is in its script."""
    job = Job.create(LocalJobScheduler(), getlauncher("srun")(), name="job")
    job.num_tasks, job.num_tasks_per_node = 4, 2
    assert LocalJobScheduler().emit_preamble(job) == []
    assert job.launcher.command(job) == ["srun"]

    found = said_of(suite, "local", "srun")
    [words] = [words for words in found if "is not for jobs of local" in words]
    assert words.endswith(
        "inside salloc the scheduler allocation: nothing else gives srun a case's ranks"
    )
    assert found[words] is Effect.WRONG
    assert not [words for words in said_of(suite, "allocation", "srun") if "not for jobs" in words]


@pytest.mark.parametrize(
    ("launcher", "program"), [("mpirun-openmpi", "mpirun"), ("alps", "aprun"), ("hosts", "")]
)
def test_the_program_of_a_launcher_is_sought(
    suite: Path, monkeypatch: pytest.MonkeyPatch, launcher: str, program: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    told = [words for words in said_of(suite, "local", launcher) if "no job can start" in words]
    sought = [words.rpartition(": ")[2].split()[0] for words in told]
    assert sought == ([program] if program not in ("", "mpirun") else [])


@pytest.mark.parametrize("scheduler", RUNS)
def test_what_is_said_is_what_is_refused(suite: Path, scheduler: str) -> None:
    _, cannot = RUNS[scheduler]
    partition = SimpleNamespace(scheduler=SimpleNamespace(registered_name=scheduler))
    assert bool(lacking_of_scheduler(EveryNode, partition)) == (HEALTH in cannot)
    if STRESS in cannot:
        with refused("FC2401"):
            scheduler_of(scheduler).submit("name", Path("script"), Path("log"), {})

    said_of(suite, scheduler, "mpirun")
    case = CheckCase("MpiCollective", "allreduce", "tcp-2n", "cpu", "gnu", (), ())
    with refused("FC2905") if SWEEP in cannot else nullcontext():
        made(suite, "hpc", case, [{}], 1)
