"""Perflog files: appending whole lines, and reading them back."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.history.record import HEADER, Record, read_line
from fabricheck.record.appending import append_whole, locked


def append(path: Path, records: Sequence[Record]) -> None:
    """Append the records of a case to a perflog, all or none.

    The file is locked meanwhile, so that several runs may write to it. A file with another header
    is set aside as ``<name>.h<N>``, as ReFrame does.

    Raises:
        FabricheckError: if they can't be written; the file is then as it was.
    """
    try:
        with locked(path):
            _set_aside_other_formats(path)
            append_whole(path, "".join(record.line() for record in records), HEADER)
    except OSError as error:
        raise FabricheckError(
            f"expected to append {len(records)} lines to the perflog {path}, found: "
            f"{error.strerror}; nothing was written: make room or give write permission, and run "
            "again"
        ) from error


def _set_aside_other_formats(path: Path) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        if file.readline() == HEADER:
            return
    number = 0
    while (aside := path.with_name(f"{path.name}.h{number}")).exists():
        number += 1
    path.rename(aside)


def read(path: Path) -> Iterator[Record]:
    """The records of one perflog file.

    Raises:
        FabricheckError: for a file that is missing, has another header or a damaged line.
    """
    try:
        with path.open(encoding="utf-8") as file:
            if file.readline() != HEADER:
                raise FabricheckError(
                    f"{path}, line 1: expected the header of this version's perflog, found "
                    "another: read it with the version that wrote it"
                )
            for number, line in enumerate(file, start=2):
                yield read_line(line.rstrip("\n"), f"{path}, line {number}")
    except OSError as error:
        raise FabricheckError(
            f"expected a perflog at {path}, found: {error.strerror}: name an existing file"
        ) from error
