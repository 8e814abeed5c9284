"""What each node of a job is, as it wrote it down with ``origin.sh``."""

from pathlib import Path
from typing import Final

PREFIX: Final = "origin."
_PART: Final = ".part"
_END: Final = "end"
_NOT_TOLD: Final = "-"


def read_origins(directory: Path) -> dict[str, dict[str, str]]:
    """The facts of every node of a job that told them, by node; only those that it told.

    A file that is missing, cut or no text says nothing, and is no fault of the case: what it
    measured is as true without.

    Args:
        directory: the job's working directory.
    """
    found = {}
    for path in sorted(directory.glob(f"{PREFIX}*")):
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        if path.suffix != _PART and lines and lines[-1] == _END:
            pairs = (line.partition(" ") for line in lines[:-1])
            facts = {key: value for key, _, value in pairs if value != _NOT_TOLD}
            found[path.name.removeprefix(PREFIX)] = facts
    return found
