"""Commands in nodes for the library itself and for tests, with their output captured."""

import subprocess
from collections.abc import Sequence

from fabricheck_testbed.bootstrap import python_command
from fabricheck_testbed.layout import Layout


def node_command(files: Layout, node: str, command: Sequence[str]) -> list[str]:
    """A command for ``subprocess`` that runs ``command`` in ``node``."""
    return python_command("enter", str(files.root), node, *command)


def run_captured(
    files: Layout, node: str, command: Sequence[str], timeout_seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``node`` and capture its output as text.

    Exit codes are those of ``testbed exec``. Raises subprocess.TimeoutExpired.
    """
    return subprocess.run(
        node_command(files, node, command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_seconds,
    )
