"""SQLite as the history uses it: which files it opens, and what its errors mean to the user."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError

WAIT: Final = 10.0
"""Seconds to wait for the lock of another process."""


def is_plain_file(path: Path) -> bool:
    """Whether a file is there that is no link, device or pipe.

    Raises:
        FabricheckError: if there is something else.
    """
    if path.is_file() and not path.is_symlink():
        return True
    if os.path.lexists(path):
        raise FabricheckError(
            f"expected a file of the history at {path}, found a link or something else that is no "
            "plain file: name another place with --store; nothing was changed"
        )
    return False


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in the user's words."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged(path, str(error)) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise FabricheckError(
                f"expected to read {path}, found it locked by another process for {WAIT:g} s: "
                "wait for its end and try again; nothing was changed"
            ) from error
        if code not in _ADVICE:
            raise damaged(path, str(error)) from error
        raise FabricheckError(
            f"expected a store that can be written at {path}, found: {error}: {_ADVICE[code]}, or "
            "name another place with --store; nothing was changed"
        ) from error


_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "make room there",
    sqlite3.SQLITE_IOERR: "make room there, see to the disk",
    **dict.fromkeys(
        (sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
        "give write permission",
    ),
}


def damaged(path: Path, found: str) -> FabricheckError:
    """The error of a catalogue that can't be read."""
    return FabricheckError(
        f"expected a catalogue of the history in {path}, found: {found}: remove that file, it is a "
        "cache, and read the record again with fabricheck history refresh, naming the places that "
        "are not the suite's own; nothing was changed"
    )
