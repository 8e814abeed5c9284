"""Writing the record: ``<perflogs>/<system>/<partition>/<year>-<month>.jsonl``, whole lines."""

import errno
import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.locks import held
from fabricheck.record.entries import Entry, Session, to_line

_PATIENCE: Final = 60.0
"""Seconds for a lock that others hold for the time of one write."""


def locked(path: Path) -> AbstractContextManager[int]:
    """Hold the lock of a file that may not be there yet; its directory is made.

    Raises:
        FabricheckError: on entering, if another process does not let go of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.parent / f".{path.name}.lock"
    busy = (
        f"FC0620 expected to write to {path} within {_PATIENCE:g} s, found another process that "
        f"holds {lock}: end it (fuser shows it), and run again"
    )
    return held(lock, busy, patience=_PATIENCE)


def append_whole(path: Path, lines: str) -> None:
    """Append lines, or nothing where there is no room for all.

    A last line without end, of a writer that was killed, gets its end first: it is damaged, and
    must not damage the next.

    Raises:
        OSError: if they can't be written; the file is then as it was.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o664)
    try:
        end = os.fstat(file).st_size
        begin = "\n" if end and os.pread(file, 1, end - 1) != b"\n" else ""
        data = (begin + lines).encode()
        if os.write(file, data) < len(data):
            os.ftruncate(file, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


def file_of(perflogs: Path, entry: Entry) -> Path:
    """The file that an entry belongs into; sessions stand above the partitions."""
    place = perflogs / entry.system
    if not isinstance(entry, Session):
        place /= entry.partition
    return place / f"{entry.time[:7]}.jsonl"


def append(perflogs: Path, entries: Iterable[Entry]) -> None:
    """Append entries, those of one file all or none.

    Each file is locked meanwhile, so that several runs may write to it.

    Raises:
        FabricheckError: if they can't be written; the file is then as it was.
    """
    lines: dict[Path, list[str]] = defaultdict(list)
    for entry in entries:
        lines[file_of(perflogs, entry)].append(to_line(entry))
    for path, found in lines.items():
        try:
            with locked(path):
                append_whole(path, "".join(found))
        except OSError as error:
            raise FabricheckError(
                f"FC0619 expected to append {len(found)} lines to the record {path}, found: "
                f"{error.strerror}; nothing was written: make room or give write permission, and "
                "run again"
            ) from error
