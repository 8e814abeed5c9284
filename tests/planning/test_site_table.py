"""What site check says of each scheduler and launcher, held against what ReFrame would start."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from reframe.core.backends import getlauncher
from reframe.core.schedulers import flux

from fabricheck.planning import plan
from fabricheck.planning.site_check import Effect, check
from fabricheck.reframe_ext import hosts, pbs
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.reframe_ext.reframe import PbsJob
from fabricheck.schedulers import LAUNCHERS, SCHEDULERS

pytestmark = pytest.mark.integration

NAMES = sorted({*LAUNCHERS, "mpirun", "mpiexec"})
HAS_SLURM = {"slurm", "squeue", "allocation"}
COMMANDS = "sbatch squeue salloc srun qsub bsub flux ssh pbs_tm hosts mpicc mpicxx"
assert hosts.NAME in SCHEDULERS
assert pbs.NAME in SCHEDULERS


def said(place: Path, scheduler: str, launcher: str) -> dict[str, Effect]:
    """What site check says of a partition, but for its references and RDMA."""
    extras = {"ucx_net_devices": {"tcp": "eth0"}, "hosts": ["n1", "n2"]}
    if scheduler == "allocation":
        extras["allocation"] = {"nodes": 2, "time": "1h"}
    partition = {
        "name": "main", "scheduler": scheduler, "launcher": launcher, "environs": ["mpi"],
        "features": ["tcp", "nodes_2", "bound_ranks"], "extras": extras,
    }  # fmt: skip
    environment = {
        "name": "mpi", "cc": "mpicc", "cxx": "mpicxx", "ftn": "", "features": ["mpi"],
        "extras": {"mpi_family": "openmpi", "pmi": "pmix"}, "target_systems": ["there"],
    }  # fmt: skip
    system = {"name": "there", "hostnames": ["there"], "partitions": [partition]}
    (place / "sites").mkdir()
    (place / "sites" / "there.yaml").write_text(
        yaml.safe_dump({"systems": [system], "environments": [environment]})
    )
    return {
        each.words: each.effect
        for each in check(place, "there")
        if "no-reference" not in each.words and "feature rdma" not in each.words
    }


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has the commands of every scheduler."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in COMMANDS.split():
        (place / name).write_text("#!/bin/sh\n")
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/bin:/usr/bin")


def started(launcher: str) -> list[str]:
    """What ReFrame puts before a program of two ranks on two nodes."""
    job = PbsJob("rfm_job")
    job.num_tasks, job.num_tasks_per_node = 2, 1
    return [str(word) for word in getlauncher(launcher)().command(job)]


@pytest.mark.parametrize(("scheduler", "launcher"), [*itertools.product(SCHEDULERS, NAMES)])
@pytest.mark.usefixtures("commands")
def test_site_check_says_of_each_what_can_run(
    tmp_path: Path, scheduler: str, launcher: str
) -> None:
    found = said(tmp_path, scheduler, launcher)
    wrong = [words for words, effect in found.items() if effect is Effect.WRONG]
    command = started(launcher)
    is_of_mpi = bool(command) and Path(command[0]).name in ("mpirun", "mpiexec")
    is_of_slurm = command[:1] == ["srun"] and (scheduler in HAS_SLURM or scheduler == "local")
    about_launcher = [words for words in wrong if "launcher" in words]
    assert bool(about_launcher) is not (is_of_mpi or is_of_slurm), wrong
    assert bool(set(wrong) - set(about_launcher)) is (scheduler == "flux"), wrong
    refused = [
        name for name in ("sweep", "stress") if any(f"fabricheck {name}" in w for w in found)
    ]
    row = SCHEDULERS[scheduler]
    assert ("sweep" in refused, "stress" in refused) == (not row.holds_nodes, not row.can_stress)
    assert any("every node, cannot run" in words for words in found) is not row.lists_nodes
    assert all(words.count("could not register") < 2 for words in found)


def test_reframe_asks_flux_for_one_task_whatever_a_case_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}

    def from_command(**words: object) -> SimpleNamespace:
        asked.update(words)
        return SimpleNamespace()

    monkeypatch.setattr(
        flux, "JobspecV1", SimpleNamespace(from_command=from_command), raising=False
    )
    job = flux._FluxJob("rfm_job", workdir=str(tmp_path))
    job.num_tasks, job.num_tasks_per_node, job.options = 4, 2, ["--queue=rdma"]
    assert (asked["num_tasks"], asked["cores_per_task"]) == (1, 1)
    assert flux.FluxJobScheduler.emit_preamble(None, job) == []


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_plan_says_which_commands_a_partition_refuses(scheduler: str) -> None:
    case = CheckCase("Check", "latency", "tcp-2n", "main", "mpi", (), ())
    partitions = [{"name": "main", "scheduler": scheduler}, {"name": "other", "scheduler": "lsf"}]
    row, found = SCHEDULERS[scheduler], list(plan._refused([case], partitions))
    assert len(found) == bool(row.refused)
    assert ("fabricheck stress" in "".join(found)) is not row.can_stress
