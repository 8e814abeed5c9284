"""Whether the libraries of a job took the variables that a sweep gave them.

Three know their variables: UCX warns of those that it does not know; an MPI has a control variable
of its tools interface for each of its own (MPI 4.1, 15.3), which ``mpi_probe`` reads back. Of any
other variable nothing says whether it is read.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from fabricheck.measures.curve import Curve

ASKED: Final = "FABRICHECK_VARIABLES"
"""Environment variable with the control variables that ``mpi_probe`` is asked for."""

_FACT: Final = "control_variables"
_OF_MPI: Final = re.compile(r"OMPI_MCA_|(?=MPIR_CVAR_)")
_UNUSED: Final = re.compile(r"UCX\s+WARN\s+unused env\w* variables?:(?P<names>.*)")


def questions(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables with which the libraries say what they took of those of a sweep."""
    controls = " ".join(filter(None, map(_control, variables)))
    return {"UCX_WARN_UNUSED_ENV_VARS": "y", ASKED: controls} if variables else {}


def shown(variables: Mapping[str, str]) -> str:
    """A setting in words."""
    return " ".join(f"{name}={value}" for name, value in variables.items()) or "the default"


def taken(curve: Curve, variables: Mapping[str, str], stage: Path) -> tuple[str, list[str]]:
    """What says that the libraries of a job read its variables, and sentences on those they didn't.

    Args:
        curve: what the job measured.
        variables: what the sweep set.
        stage: directory of the job.
    """
    told = curve.metadata.get(_FACT)
    said = [_said(name, value, told, stage) for name, value in variables.items()]
    proof = "; ".join(words for words, _ in said if words)
    return proof, [denied for _, denied in said if denied]


def _said(name: str, value: str, told: str | None, stage: Path) -> tuple[str, str]:
    """What proves that a variable was read, or what denies it."""
    if name.startswith("UCX_"):
        return _said_by_ucx(name, stage)
    control = _control(name)
    if not control or told is None:
        return f"nothing says whether {name} is read", ""
    if not (match := re.search(rf"(?:^| ){re.escape(control)}=(\S*)", told)):
        return "", f"expected the MPI to read {name}, found no control variable {control} in it"
    if value.isdecimal() and match[1].isdecimal() and int(value) != int(match[1]):
        return "", f"expected the MPI to take {control} as {value}, found {match[1]}"
    return f"the MPI reads {control} as {match[1] or 'text'}", ""


def _said_by_ucx(name: str, stage: Path) -> tuple[str, str]:
    logs = [path.read_text(errors="replace") for path in sorted(stage.glob("ucx.*.log"))]
    if not logs:
        return "", f"expected UCX to read {name}, found no log of UCX: it did not run"
    if name in {each for log in logs for each in _unused(log)}:
        return "", f"expected UCX to read {name}, found its warning of an unused variable"
    return f"UCX did not call {name} unused", ""


def _unused(log: str) -> Iterator[str]:
    for match in _UNUSED.finditer(log):
        # In brackets stand what else may have been meant, and how to silence the warning.
        yield from re.findall(r"\w+", re.sub(r"\([^)]*\)", "", match["names"]))


def _control(name: str) -> str:
    """The control variable of the MPI behind an environment variable; empty where it has none."""
    match = _OF_MPI.match(name)
    return name[match.end() :] if match else ""
