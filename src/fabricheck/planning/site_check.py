"""What a site file still lacks: what would fail a run, and what would make it see less."""

import functools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from reframe.core.exceptions import ReframeError

from fabricheck.errors import FabricheckError
from fabricheck.fabric.limits import read_limits
from fabricheck.judge.link_rate import read_rate
from fabricheck.judge.reference_file import exists, load, path_of
from fabricheck.localise import recorded
from fabricheck.provenance import folders
from fabricheck.reframe_ext.config import site_configuration, usable_sites
from fabricheck.reframe_ext.reframe import make_system
from fabricheck.schedulers import LAUNCHERS, launcher_of, scheduler_of
from fabricheck.schedulers.protocol import Scheduler
from fabricheck.schedulers.slurm import SRUN
from fabricheck.sites import features
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.sites.files import PAGE, nearest, read
from fabricheck.transports.table import IPOIB, TRANSPORTS

_PROGRAMS: Final = {
    **dict.fromkeys(("mpirun-openmpi", "mpirun-intelmpi"), "mpirun"),
    "alps": "aprun",
    f"{SRUN.name}alloc": SRUN.name,
    "lrun-gpu": "lrun",
    **dict.fromkeys(each.name for each in LAUNCHERS.values() if not each.starts_mpi),
}
"""What launchers of ReFrame start, where it has another name, or is part of this suite."""

_ON_GPUS = {each.feature for each in TRANSPORTS.values() if each.is_of_gpus}


class Effect(StrEnum):
    """What follows from something that a site lacks."""

    WRONG = "wrong"
    WEAKER = "less is seen"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a site.

    Attributes:
        effect: whether runs fail by it, or see less than they could.
        words: what is missing, what follows from it and what to do.
    """

    effect: Effect
    words: str


_wrong = functools.partial(Remark, Effect.WRONG)
_weaker = functools.partial(Remark, Effect.WEAKER)


def check(suite: Path, name: str) -> list[Remark]:
    """What a site lacks, what is wrong first.

    Args:
        suite: root of the suite.
        name: name of the site's file.

    Raises:
        FabricheckError: if there is no such file, or it breaks the schema.
    """
    path = nearest(folders("sites", suite), f"{name}.yaml")
    if not path.exists():
        known = ", ".join(sorted(each.stem for each in path.parent.glob("*.yaml")))
        raise FabricheckError(
            f"FC0306 expected a site file {path}, found none; there are {known}: use one of these, "
            f"or write one with fabricheck site init {name}"
        )
    site = read(path)
    remarks = [*_mpi_remarks(site)]
    for partition in (each for system in site["systems"] for each in system["partitions"]):
        remarks += _about(f"partition {partition['name']}", _partition_remarks(suite, partition))
    for environment in site["environments"]:
        remarks += _about(f"environment {environment['name']}", _environment_remarks(environment))
    broken = usable_sites(suite).broken
    remarks += [
        Remark(Effect.WRONG if each == path else Effect.WEAKER, f"{each.name} is left out: {error}")
        for each, error in broken.items()
    ]
    if path not in broken:
        remarks += _reframe_remarks(suite, site)
    for system in site["systems"]:
        remarks += _about(f"system {system['name']}", _reference_remarks(suite, system["name"]))
    return sorted(dict.fromkeys(remarks), key=lambda remark: remark.effect is not Effect.WRONG)


def _about(what: str, remarks: Iterable[Remark]) -> list[Remark]:
    return [replace(each, words=f"{what}: {each.words}") for each in remarks]


def _partition_remarks(suite: Path, partition: Mapping[str, Any]) -> Iterator[Remark]:
    offered = partition.get("features", [])
    extras = PartitionExtras.of(partition.get("extras"))
    yield from _unknown(offered, features.OF_PARTITION, "nodes_N")
    for reader in (read_limits, read_rate):
        yield from _refusal(reader, extras)
    if (path := recorded.of_partition(suite, extras.topology)) is not None:
        yield from _refusal(recorded.load, path)
    yield from _scheduler_remarks(partition, extras)
    launcher = launcher_of(partition["launcher"])
    if extras.gpus_per_node is not None and not launcher.of_job_gpus:
        known = ", ".join(each.name for each in LAUNCHERS.values() if each.of_job_gpus)
        yield _weaker(
            f"extras.gpus_per_node is for the launcher {known}; with {launcher.name} give the GPUs "
            "in 'access'"
        )
    if not any(feature.startswith("nodes_") for feature in offered):
        yield _wrong("no feature nodes_N, so no case has nodes to run on")
    yield from _advice(offered, extras)


def _scheduler_remarks(partition: Mapping[str, Any], extras: PartitionExtras) -> Iterator[Remark]:
    """What can't run, or can't start, for what starts jobs and ranks."""
    scheduler, launcher = scheduler_of(partition["scheduler"]), launcher_of(partition["launcher"])
    program = _PROGRAMS.get(launcher.name, launcher.name)
    for needed in filter(None, (scheduler.command, program)):
        if needed not in ("mpirun", "mpiexec") and shutil.which(needed) is None:
            yield _wrong(f"{needed} is not on PATH here, no job can start")
    if launcher.name in LAUNCHERS and launcher.name != scheduler.launcher.name:
        yield _wrong(
            f"the launcher {launcher.name} is not for jobs of {partition['scheduler']}: take "
            f"mpirun or mpiexec of the MPI{launcher.elsewhere}"
        )
    yield from _refusals(scheduler, partition["scheduler"])
    if scheduler.shares_nodes and shutil.which(extras.remote_shell) is None:
        yield _wrong(f"extras.remote_shell {extras.remote_shell} is not on PATH here")
    if extras.stress and not scheduler.can_stress:
        yield _wrong(
            f"extras.stress: {partition['scheduler']} has no jobs that yield their nodes to "
            "others, so fabricheck stress cannot run there"
        )
    if (
        scheduler.lists_nodes
        and not scheduler.is_alone
        and "rdma" not in partition.get("features", [])
    ):
        yield _weaker("without the feature rdma nothing on InfiniBand or RoCE is measured")


def _refusals(scheduler: Scheduler, name: str) -> Iterator[Remark]:
    """What no site file can change."""
    if scheduler.shortcoming:
        yield _wrong(scheduler.shortcoming)
    if scheduler.condition:
        yield _weaker(scheduler.condition)
    for what in scheduler.refuses:
        yield _weaker(f"with the scheduler {name} cannot run: {what}")
    if not scheduler.lists_nodes:
        yield _weaker(f"{name} was not tested, only Slurm, OpenPBS, hosts and one machine")


def _unknown(offered: list[str], known: Mapping[str, str], *more: str) -> Iterator[Remark]:
    for feature in features.unknown(offered, known):
        yield _wrong(
            f"no check asks for the feature {feature!r}: correct it, known are "
            f"{', '.join((*more, *known))}"
        )


def _advice(offered: list[str], extras: PartitionExtras) -> Iterator[Remark]:
    """What makes the proof or the judgement weaker than it could be."""
    devices = extras.ucx_net_devices
    if IPOIB in offered and IPOIB not in devices:
        yield _wrong(
            f"it offers {IPOIB}, and extras.ucx_net_devices names no interface "
            f"for {IPOIB} (such as ib0): no case of it can run"
        )
    if "gpu" not in offered and (lost := [each for each in offered if each in _ON_GPUS]):
        yield _wrong(
            f"it offers {', '.join(lost)} without the feature gpu: no case of them can run"
        )
    if "tcp" in offered and "tcp" not in devices:
        yield _weaker(
            "extras.ucx_net_devices names no interface for tcp, so UCX takes "
            "every one, the management network too"
        )
    if "bound_ranks" not in offered:
        yield _weaker("without the feature bound_ranks two ranks may share a core unseen")
    if "gpu" in offered and extras.gpus_per_node is None:
        yield _weaker(
            "without extras.gpus_per_node jobs ask for no GPUs, and two ranks "
            "of NCCL share one, whose speed nothing judges"
        )
    if "rdma" not in offered:
        return
    consequences = {
        "link_rate": "a port may come up slower unseen, and perftest is not held against the link",
        "fabric": "the link's headers are taken to be the smallest ones, InfiniBand's",
        "ucx_net_devices": "perftest takes the first card, and no port is missed when it is gone",
    }
    if extras.fabric == "roce":
        consequences["gid_index"] = "UCX and perftest each choose a RoCE address of their own"
        consequences["traffic_class"] = "UCX sends in class 106, all else in 0, perhaps two queues"
    for extra, consequence in consequences.items():
        if getattr(extras, extra) in (None, "", {}):
            yield _weaker(f"without extras.{extra} {consequence}")


def _environment_remarks(environment: Mapping[str, Any]) -> Iterator[Remark]:
    offered = environment.get("features", [])
    yield from _unknown(offered, features.OF_ENVIRONMENT)
    is_intel = EnvironmentExtras.of(environment.get("extras")).mpi_family == "intelmpi"
    given = {*os.environ, *dict(environment.get("env_vars", []))}
    if is_intel and not environment.get("modules") and "I_MPI_ROOT" not in given:
        yield _wrong(
            "Intel MPI's compilers need I_MPI_ROOT, and nothing sets it: name its module under "
            "modules, or give the variable under env_vars"
        )
    if "spack" in offered:
        if not EnvironmentExtras.of(environment.get("extras")).mpi_spec:
            yield _wrong("with the feature spack it needs extras.mpi_spec")
        variable = environment.get("prefix_variable")
        is_there = variable is None or bool(os.environ.get(variable))
        if is_there and shutil.which("spack") is None:
            yield _wrong(
                "spack is not on PATH here: install it as docs/how-to/spack.md has it; "
                "without the feature spack CMake builds what needs no Spack"
            )
    elif not {"prefix_variable", "prefix", "wheel", "needs"} & environment.keys():
        for key in ("cc", "cxx"):
            compiler = environment.get(key)
            if compiler and not environment.get("modules") and shutil.which(compiler) is None:
                yield _wrong(f"{key} {compiler} is not on PATH here")


def _mpi_remarks(site: Mapping[str, Any]) -> Iterator[Remark]:
    """MPIs that a launcher would start as worlds of one rank."""
    environments = {
        each["name"]: each for each in site["environments"] if "mpi" in each.get("features", [])
    }
    for partition in (each for system in site["systems"] for each in system["partitions"]):
        launcher = launcher_of(partition["launcher"])
        for name in filter(environments.__contains__, partition["environs"]):
            if not launcher.starts_mpi:
                yield _wrong(
                    f"environment {name}: {launcher.name} starts each rank of an MPI as a world of "
                    "its own: take mpirun or mpiexec"
                )
            elif launcher.pmis and not EnvironmentExtras.of(environments[name].get("extras")).pmi:
                yield _wrong(
                    f"environment {name}: {launcher.name} needs extras.pmi, what {launcher.pmis} "
                    "offers and the MPI speaks: pmix for Open MPI, pmi2 for MPICH"
                )


def _reframe_remarks(suite: Path, site: Mapping[str, Any]) -> list[Remark]:
    """What ReFrame itself refuses: schedulers, launchers, and all else that it reads."""
    configuration = site_configuration(suite)
    try:
        for system in site["systems"]:
            where = f"system {system['name']}"
            make_system(configuration, system["name"])
    except (ReframeError, ValueError, TypeError) as error:
        reason = ": ".join(str(each).split("\n")[0] for each in (error, error.__cause__) if each)
        return [_wrong(f"{where}: ReFrame can't use it: {reason}")]
    return []


def _reference_remarks(suite: Path, system: str) -> Iterator[Remark]:
    path = path_of(folders("references", suite), system)
    if exists(path):
        yield from _refusal(load, path)
    else:
        yield _weaker(
            f"no file {path}, so every case ends as no-reference: measure, then "
            f"docs/how-to/references.md ({PAGE} has the order)"
        )


def _refusal(reader: Callable[[Any], object], given: Any) -> Iterator[Remark]:
    try:
        reader(given)
    except FabricheckError as error:
        yield _wrong(str(error))
