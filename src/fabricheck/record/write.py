"""Writing the record: ``<perflogs>/<system>/<partition>/<year>-<month>.jsonl``."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.record.appending import append_whole, locked
from fabricheck.record.model import Entry, Session, to_line


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
                f"expected to append {len(found)} lines to the record {path}, found: "
                f"{error.strerror}; nothing was written: make room or give write permission, and "
                "run again"
            ) from error
