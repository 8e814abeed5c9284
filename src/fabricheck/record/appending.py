"""Appending whole lines to a file of the record, all or none, by several processes."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file that may not be there yet; its directory is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.parent / f".{path.name}.lock", os.O_RDWR | os.O_CREAT, 0o664)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def append_whole(path: Path, lines: str, header: str = "") -> None:
    """Append lines, or nothing where there is no room for all; a new file begins with the header.

    A last line without end, of a writer that was killed, gets its end first: it is damaged, and
    must not damage the next.

    Raises:
        OSError: if they can't be written; the file is then as it was.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o664)
    try:
        end = os.fstat(file).st_size
        begin = header if not end else "" if os.pread(file, 1, end - 1) == b"\n" else "\n"
        data = (begin + lines).encode()
        if os.write(file, data) < len(data):
            os.ftruncate(file, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)
