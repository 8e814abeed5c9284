"""Starting munged, which authenticates Slurm's messages, and seeing that it answers."""

import socket
from pathlib import Path

from fabricheck_testbed.layout import Layout


def munged_command(munged: str, files: Layout) -> list[str]:
    """A munged that stays in the foreground, with the testbed's key."""
    return [
        munged,
        "--foreground",
        # munged objects to key and socket below directories that others may write, /tmp for
        # one; ours are protected by the modes of their own directories.
        "--force",
        f"--key-file={files.munge_key}",
        f"--socket={files.munge_socket}",
        f"--pid-file={files.run / 'munged.pid'}",
        f"--seed-file={files.run / 'munged.seed'}",
        "--origin=127.0.0.1",
    ]


def connectable(path: Path) -> bool:
    """Whether somebody listens at this unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True
