"""Reading what a person names: a file, a pipe or a device."""

import errno
import os
from pathlib import Path
from typing import BinaryIO, Final

from fabricheck.errors import FabricheckError

MOST: Final = 256 << 20
"""Bytes that no output of a program and no record has."""
FORMAT: Final = 1
"""Of what ``--json`` writes: a key that goes or changes its meaning makes it another."""


def read_bounded(file: BinaryIO) -> bytes:
    """All that a file, pipe or device has that a person named.

    Raises:
        OSError: if it can't be read, or is larger than any output or record is (``EFBIG``), as a
            device that has no end.
    """
    content = file.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), getattr(file, "name", None))
    return content


def read_file(path: Path) -> bytes:
    """All that a file or device has that a person named.

    A pipe that a shell makes (``<(command)``) is read, as its command is running. One with a name
    is refused: opening it waits for a writer, and nobody can say whether one comes.

    Raises:
        FabricheckError: for a named pipe.
        OSError: as ``read_bounded``.
    """
    # Behind /dev/fd a pipe without a name resolves to what is no path.
    if path.resolve().is_fifo():
        raise FabricheckError(
            f"FC0111 expected a file at {path}, found a named pipe, on which the command could "
            "wait forever: save what comes through it to a file, and name that"
        )
    with path.open("rb") as file:
        return read_bounded(file)
