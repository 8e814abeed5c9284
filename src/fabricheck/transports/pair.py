"""The runs of ``pair.sh``: how they are asked for, and what they left behind."""

import re
from collections.abc import Sequence
from pathlib import Path

from fabricheck.errors import FabricheckError

PAIR_WRAPPER = Path(__file__).with_name("pair.sh")

SERVER_OUTPUTS = ("server.out", "server.err")

_NEXT_RUN = ":::"
_BEGIN = re.compile(r"^pair: run (?P<number>\d+) of (?P<count>\d+): (?P<command>.+)$")
_END = re.compile(r"^pair: run (?P<number>\d+) ended$")
_VERSION = re.compile(r"^pair: version (?:Version:)?\s*(?P<version>.+)$", re.MULTILINE)
_FAULT = re.compile(r"^pair: (?P<message>.+)$", re.MULTILINE)


def arguments(program: str, common: Sequence[str], runs: Sequence[Sequence[str]]) -> list[str]:
    """The arguments of ``pair.sh``.

    Args:
        program: what to run at both ends.
        common: options of every run.
        runs: options of each run.
    """
    words = [program, *common]
    for options in runs:
        words += [_NEXT_RUN, *options]
    return words


def read_runs(text: str, expected: int) -> list[str]:
    """What the client printed in each run.

    Args:
        text: the standard output of the job.
        expected: number of runs.

    Raises:
        FabricheckError: if a run lacks its beginning or its end, or if they are out of order.
    """
    runs: list[list[str]] = []
    is_open = False
    for number, line in enumerate(text.split("\n"), start=1):
        if begin := _BEGIN.match(line):
            if is_open or (int(begin["number"]), int(begin["count"])) != (len(runs) + 1, expected):
                raise _disorder(number, f"run {len(runs) + 1} of {expected}", line)
            runs.append([])
            is_open = True
        elif end := _END.match(line):
            if not is_open or int(end["number"]) != len(runs):
                raise _disorder(number, "the end of a run that has begun", line)
            is_open = False
        elif is_open:
            runs[-1].append(line)
    if is_open or len(runs) != expected:
        ended = len(runs) - is_open
        raise FabricheckError(
            f"FC1003 expected {expected} runs that ended, found {ended}: the job was cut short, or "
            "its output is damaged; run the case again"
        )
    return ["".join(f"{line}\n" for line in run) for run in runs]


def read_version(text: str) -> str:
    """The version of the program, empty where it was not asked for it."""
    match = _VERSION.search(text)
    return match["version"] if match else ""


def read_faults(errors: str) -> tuple[str, ...]:
    """What the two ends said against each other in the error output of the job, in order."""
    return tuple(dict.fromkeys(match["message"] for match in _FAULT.finditer(errors)))


def _disorder(number: int, expected: str, line: str) -> FabricheckError:
    return FabricheckError(
        f"FC1004 line {number} of the output: expected {expected}, found {line!r}: outputs of "
        "several jobs are mixed, or lines are missing; run the case again"
    )
