"""Where a result comes from: the state of the suite itself."""

import functools
import subprocess
from pathlib import Path

SUITE = Path(__file__).resolve().parents[2]
"""Root of the suite: the checkout that holds checks/, sites/ and references/."""


@functools.cache
def commit(directory: Path) -> str:
    """Short git commit of a directory, ``+`` appended when tracked files were changed.

    Empty where git or the repository is missing, as in an unpacked release.
    """
    described = subprocess.run(
        ["git", "-C", str(directory), "describe", "--always", "--exclude=*", "--dirty=+"],
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip()
