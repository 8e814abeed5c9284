"""Where the time of a case goes: waiting, launch and measuring, apart from each other."""

from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.transports.witness import read_witnesses

_CLOCK: Final = "clock.txt"
LOOK: Final = (
    f"echo $EPOCHREALTIME > {_CLOCK}",
    # Whatever ends the script, its exit code stays.
    f"trap 'echo $EPOCHREALTIME >> {_CLOCK}' EXIT",
)
"""Commands at the beginning of a case's script, which is bash's: the time then, and at its end."""


def times(stage: Path, submitted: float | None) -> dict[str, float]:
    """The seconds of a case that has ended.

    ``waiting`` is from its submission to the beginning of its script; ``measuring`` is the program
    of the slowest rank; ``launch`` is the rest of the script: launcher, wrappers and snapshots. A
    case whose ranks are not witnessed has all of its script as ``measuring``. What is not known is
    left out.

    Args:
        stage: directory of the case.
        submitted: when it was submitted, in seconds since the epoch.
    """
    began, ended = _script(stage)
    if began is None:
        return {}
    found = {"waiting": max(0.0, began - (submitted or began))}
    if ended is None:
        return found
    script = max(0.0, ended - began)
    try:
        ran = max((witness.seconds for witness in read_witnesses(stage)), default=script)
    except FabricheckError:
        return found
    measuring = min(ran, script)
    return {**found, "launch": script - measuring, "measuring": measuring}


def script_end(stage: Path) -> float | None:
    """When the script of a case ended, in seconds since the epoch."""
    return _script(stage)[1]


def _script(stage: Path) -> tuple[float | None, float | None]:
    try:
        words = (stage / _CLOCK).read_text().replace(",", ".").split()
        looks = [float(word) for word in words]
    except (OSError, ValueError):
        looks = []
    return (looks[0] if looks else None, looks[1] if len(looks) > 1 else None)
