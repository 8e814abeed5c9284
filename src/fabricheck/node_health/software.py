"""How a node stands to each prerequisite of the software that an environment has on it."""

import re
from functools import partial
from pathlib import Path
from typing import Final

from fabricheck.node_health.facts import Facts
from fabricheck.node_health.survey import (
    Answer,
    Survey,
    differing,
    met,
    not_applicable,
    unknown,
    unmet,
    version_numbers,
)
from fabricheck.transports.families import MPIS

_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_COMMANDS = {"ucx": "ucx_info", "osu": "osu_latency"}
_UNTOLD = {
    "osu": not_applicable(
        "the OSU benchmarks are not installed here: the suite measures with its own mpi_probe, "
        "which prints their tables"
    )
}


def programs(family: str) -> tuple[str, ...]:
    """The programs whose version a node is asked for, in an environment with that MPI or none."""
    ucx = ("ucx",) if not family or MPIS[family].ucx else ()
    return (family, *ucx, "osu") if family else ucx


def probe_arguments(family: str, compiler: str) -> list[str]:
    """What ``node_probe.sh`` is asked for in an environment with that MPI, or none, and compiler.

    Where the compiler has a path, the MPI's own tool is looked for beside it before ``PATH``.
    """
    if not family:
        return list(programs(family))
    folder = Path(compiler).parent if Path(compiler).is_absolute() else ""
    return [f"{family}={folder}={MPIS[family].command}", *programs(family)[1:]]


def _command(program: str) -> str:
    return _COMMANDS.get(program) or MPIS[program].command.split()[0]


def version_in(said: str) -> str:
    """The version number in what a program said of itself; empty if there is none."""
    match = _NUMBER.search(said)
    return match[0] if match else ""


def _version(program: str, node: Facts, survey: Survey) -> Answer:
    said = node.versions[program]
    untold = f"no {_command(program)} on PATH that tells it"
    if not any(each.versions[program] for each in survey.nodes):
        return _UNTOLD.get(program, unknown(untold))
    words = said or untold
    if others := differing(node, survey, lambda each: each.versions[program]):
        return unmet(f"{words} here, {others}")
    least = survey.expected.versions.get(program)
    if least is None:
        return met(words)
    found = version_in(said)
    if not found:
        return unknown(f"{words}: no version in it to compare with {least}")
    if version_numbers(found) < version_numbers(least):
        return unmet(f"{words}, expected {least} or newer")
    return met(words)


def mpi_version(node: Facts, survey: Survey) -> Answer:
    """The environment's MPI, which must be the one that its tool speaks of."""
    said = node.versions[survey.family]
    if said and not said.startswith(name := MPIS[survey.family].printed):
        return unmet(
            f"{_command(survey.family)} says {said}, expected {name} ...: another MPI comes first "
            "on the environment's PATH"
        )
    return _version(survey.family, node, survey)


ucx_version: Final = partial(_version, "ucx")
"""The UCX that the environment finds."""
osu_version: Final = partial(_version, "osu")
"""The OSU benchmarks that the environment finds."""
