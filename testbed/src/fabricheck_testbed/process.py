"""Starting daemons from the anchor and from nodes, and reaping orphans in them."""

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from fabricheck_testbed.layout import Layout
from fabricheck_testbed.records import write_own_record

COMMAND_NOT_FOUND: Final = 127
FORWARDED: Final = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
"""Signals that whoever runs a command in a node hands on to it."""
# Daemons get no more than this: the caller's SLURM_* or LD_* must not change their behaviour.
DAEMON_ENVIRONMENT: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/root",
}


class Host:
    """What a process of the testbed knows about the world outside its namespaces."""

    def __init__(self, files: Layout, proc: int, boot_id: str) -> None:
        self.files = files
        self.proc = proc
        self.boot_id = boot_id

    def record_self(self, name: str) -> None:
        """Record the calling process under ``name``."""
        write_own_record(self.files.records, name, self.proc, self.boot_id)


def restore_signals() -> None:
    """Undo what Python and our own reaping changed; ignored signals survive execve(2)."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def start_daemon(
    name: str, command: Sequence[str], host: Host, extra: Mapping[str, str] | None = None
) -> int:
    """Start a recorded daemon that stays in the foreground; returns its PID as seen here."""
    pid = os.fork()
    if pid:
        return pid
    try:
        output = os.open(host.files.output_file(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.setsid()
        host.record_self(name)
        restore_signals()
        os.execve(command[0], list(command), {**DAEMON_ENVIRONMENT, **(extra or {})})  # noqa: S606
    except OSError as error:
        os.write(2, f"{name}: {error}\n".encode())
    os._exit(COMMAND_NOT_FOUND)


def ended(pid: int) -> bool:
    """Whether a child of the caller has ended; reaps it."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def last_line(path: Path) -> str:
    """The last line of a log, for a message; empty if there is none."""
    with contextlib.suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


def reap_forever() -> NoReturn:
    """Be the first process of a PID namespace: let the kernel reap whatever ends up here."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    while True:
        signal.pause()
