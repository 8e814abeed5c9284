"""Locks on files and directories, which the kernel lets go when their holders end."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError

_POLL: Final = 0.05
_RUN: Final = ".lock"
"""Whoever measures in a checkout holds this; ReFrame inherits it."""
_BLOCKS: Final = ".blocks.lock"


class BusyError(FabricheckError):
    """Somebody else holds a lock."""


@contextmanager
def held(
    path: Path,
    busy: str = "",
    flags: int = os.O_RDWR | os.O_CREAT,
    *,
    shared: bool = False,
    patience: float = 0.0,
) -> Iterator[int]:
    """Hold a lock; its descriptor, which programs that are started may be given to hold as well.

    Args:
        path: what is locked.
        busy: what is said if somebody else holds it.
        flags: how to open it, as for ``open(2)``.
        shared: beside others that hold it so.
        patience: seconds to wait for its holder.

    Raises:
        BusyError: if somebody else holds it.
        OSError: if it can't be opened.
    """
    lock = os.open(path, flags, 0o600)
    end = time.monotonic() + patience
    try:
        _close_to_others(lock, path)
        while True:
            try:
                fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= end:
                    raise BusyError(busy) from error
                time.sleep(_POLL)
        yield lock
    finally:
        os.close(lock)


@contextmanager
def of_run(
    reports: Path, busy: str, *, patience: float = 1.0, blocks: float = 3700.0
) -> Iterator[int]:
    """Hold the fabric for a run, once the blocks of stresses that are under way have ended.

    Args:
        reports: the suite's directory of reports.
        busy: what is said if another run holds it.
        patience: seconds to wait for that one; a block holds it for a moment before it begins.
        blocks: seconds to wait for blocks, of which none may take longer than an hour.

    Raises:
        BusyError: if another run holds it, or a block doesn't end in time.
    """
    lock_file = reports / _BLOCKS
    late = f"FC3503 expected blocks of stress to end, found one that holds {lock_file}: stop it"
    with held(reports / _RUN, busy, patience=patience) as lock:
        with held(lock_file, late, patience=blocks):
            pass
        yield lock


@contextmanager
def of_block(reports: Path) -> Iterator[None]:
    """Hold it for a block of a stress: beside those of others, never beside a run.

    Raises:
        BusyError: if a run holds it, or waits for blocks to end.
    """
    with ExitStack() as stack:
        with held(reports / _RUN, shared=True):
            stack.enter_context(held(reports / _BLOCKS, shared=True))
        yield


def _close_to_others(lock: int, path: Path) -> None:
    """Leave a lock file to those who may write beside it: whoever may read it could hold it."""
    found = os.fstat(lock)
    mode = 0o660 if path.parent.stat().st_mode & stat.S_IWGRP else 0o600
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
        os.fchmod(lock, mode)
