"""Locks on files and directories, which the kernel lets go when their holders end."""

import fcntl
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError

_POLL: Final = 0.05


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
        patience: seconds to wait for its holder; ``math.inf``: until it lets go.

    Raises:
        BusyError: if somebody else holds it.
        OSError: if it can't be opened.
    """
    lock = os.open(path, flags, 0o664)
    end = time.monotonic() + patience
    # The kernel wakes who waits for ever, and in turn.
    at_once = 0 if patience == math.inf else fcntl.LOCK_NB
    try:
        while True:
            try:
                fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | at_once)
                break
            except BlockingIOError as error:
                if time.monotonic() >= end:
                    raise BusyError(busy) from error
                time.sleep(_POLL)
        yield lock
    finally:
        os.close(lock)
