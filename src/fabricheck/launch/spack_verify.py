"""What Spack claims of the programs that it built, held against what a node of the job says."""

from dataclasses import replace
from pathlib import Path

from fabricheck.launch.measurement import Build, Evidence
from fabricheck.schedulers.protocol import Launcher
from fabricheck.transports.families import Choice
from fabricheck.transports.table import Transport
from fabricheck.transports.ucx_info import objection

LISTING = "ucx_info.txt"


def asks_ucx(build: Build, choice: Choice) -> bool:
    """Whether a node must say what its UCX can do: Spack has built it, and the MPI is on it."""
    return bool(build.ucx_info) and choice.is_on_ucx


def questions(build: Build, choice: Choice, launcher: Launcher) -> list[str]:
    """Commands before the run, on a node of the job; they take as long as UCX's start.

    A script in an allocation runs where the allocation was asked for, so a launcher that can brings
    them to a node. Without the variables of the ranks' logs, or this would leave one among them.
    """
    if not asks_ucx(build, choice):
        return []
    words = ["env -u UCX_LOG_FILE -u UCX_LOG_LEVEL", launcher.on_one_node, build.ucx_info]
    return [f"{' '.join(filter(None, words))} -d > {LISTING} 2>&1"]


def confirm(
    found: Evidence, build: Build, choice: Choice, transport: Transport, directory: Path
) -> Evidence:
    """The evidence, with what the program doesn't say of its MPI, and what its UCX lacks first.

    OSU's programs print no version of the MPI; ``build`` has asked the library that they load.
    """
    if found.curve and build.mpi_version:
        metadata = {**found.curve.metadata, "mpi": build.mpi_version}
        found = replace(found, curve=replace(found.curve, metadata=metadata))
    if not asks_ucx(build, choice):
        return found
    listing = directory / LISTING
    if found.objections and not listing.exists():
        return found  # the job did not come so far
    text = listing.read_text(errors="replace") if listing.exists() else ""
    lacking = objection(transport, text)
    return replace(found, objections=(lacking, *found.objections)) if lacking else found
