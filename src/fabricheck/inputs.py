"""Reading what a person names: a file, a pipe or a device."""

import errno
import os
from typing import BinaryIO, Final

MOST: Final = 256 << 20
"""Bytes that no output of a program and no record has."""


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
