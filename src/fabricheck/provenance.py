"""Where a result comes from: the state of the suite itself."""

import functools
import os
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path

SUITE = Path(__file__).resolve().parents[2]
"""Root of the suite: the checkout that holds checks/, sites/ and references/."""


@functools.cache
def commit(directory: Path) -> str:
    """Short git commit of a directory, ``+`` appended when tracked files were changed.

    Empty where git or the repository is missing, as in an unpacked release.
    """
    try:
        described = subprocess.run(
            ["git", "-C", str(directory), "describe", "--always", "--exclude=*", "--dirty=+"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return described.stdout.strip()


@functools.cache
def session() -> str:
    """Identity of this process as a session of measurements: when, where and which it is."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}-{os.getpid()}"
