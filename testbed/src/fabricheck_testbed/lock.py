"""The lock on a state directory: one operation (up or down) at a time."""

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabricheck_testbed.errors import TestbedError

# The anchor of an ``up`` that was killed needs a moment to notice and to let go.
PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.02
_OURS = re.compile(rb"(?:(?:up|down) \(process [0-9]+\))?")
# A link would lead to a file of others, and a pipe would be waited for.
_CAREFULLY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def state_lock(path: Path, operation: str) -> Iterator[int]:
    """Hold the lock file ``path``, and yield its descriptor.

    The lock belongs to the open file, so a child that inherits the descriptor keeps it held.
    Raises TestbedError if another operation holds it, naming that operation and its PID, or if
    the file is not ours.
    """
    descriptor = _acquire(path)
    try:
        if not _is_ours(descriptor):
            raise TestbedError(
                f"expected {path} to be the lock of a testbed, found a file of others, which is "
                "left as it is: choose another directory with --state-dir"
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{operation} (process {os.getpid()})".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(path: Path) -> int:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _CAREFULLY, 0o644)
        if _locked(descriptor):
            if _is_still(path, descriptor):
                return descriptor
            os.close(descriptor)  # a ``down`` has just removed the file that we locked
            continue
        holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "another operation"
        os.close(descriptor)
        if time.monotonic() > deadline:
            raise TestbedError(
                f"the state directory {path.parent} is in use by {holder}: "
                "wait for it to end, or choose another directory with --state-dir"
            )
        time.sleep(_POLL_SECONDS)


def _is_ours(descriptor: int) -> bool:
    """Whether a lock file is empty or holds what this module writes."""
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    return is_file and _OURS.fullmatch(os.pread(descriptor, 200, 0)) is not None


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def holder(path: Path) -> str | None:
    """Who holds the lock, or None if nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _CAREFULLY)
    except OSError:
        return None
    try:
        if _locked(descriptor):
            return None
        return os.pread(descriptor, 200, 0).decode(errors="replace") or "another operation"
    finally:
        os.close(descriptor)
