"""The files of the record: which there are, and which of them were read before, and how far."""

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.history.lines import CutStreamError, chunks
from fabricheck.history.provenance import FILE

_PERFLOG = re.compile(r"^[^.].*\.log(\.h?\d+)?(\.gz)?$")
_PROVENANCE = re.compile(rf"^{re.escape(FILE)}(\.\d+)?(\.gz)?$")
EXAMPLES = "example"
EDGE = 4096


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells, without opening it, that a file is as it was."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """The stamp of a file now."""
        found = path.stat()
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, and how far.

    Attributes:
        number: identity in the store.
        path: where it was last seen.
        stamp: as it was when it was read.
        offset: bytes that were read, unpacked, all of them whole lines.
        lines: how many lines that was, with the header.
        checksum: CRC-32 of these bytes.
        edge: CRC-32 of the last 4096 of them.
        newest: the latest time on its lines, in seconds since 1970.
    """

    number: int
    path: Path
    stamp: Stamp
    offset: int = 0
    lines: int = 0
    checksum: int = 0
    edge: int = 0
    newest: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a refresh has to read.

    Attributes:
        unchanged: sources as they were.
        continued: sources that may have grown, each with the path and stamp of now.
        new: files that were never read.
        gone: sources whose lines are in no file any more: removed, cut off or overwritten.
    """

    unchanged: tuple[Source, ...]
    continued: tuple[tuple[Source, Path, Stamp], ...]
    new: tuple[tuple[Path, Stamp], ...]
    gone: tuple[Source, ...]


def is_provenance(path: Path) -> bool:
    """Whether a file is one of provenance, by its name."""
    return bool(_PROVENANCE.match(path.name))


def record_files(root: Path, skip: Sequence[str] = ()) -> list[Path]:
    """The perflogs and the provenance below a directory, or the file itself.

    Rotated and compressed ones are included.

    Args:
        root: directory or file.
        skip: patterns of paths to leave out.

    Raises:
        FabricheckError: if there is no such directory or file, or it can't be listed.
    """
    if not root.exists():
        raise FabricheckError(
            f"expected perflogs in {root}, found no such directory or file: name an existing one"
        )
    found = [root] if root.is_file() else _walk(root)
    return sorted(path for path in found if not any(path.match(pattern) for pattern in skip))


def _walk(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise FabricheckError(
            f"expected a directory that can be listed at {error.filename}, found: "
            f"{error.strerror}: give read permission, or skip it with --skip"
        ) from error

    for directory, folders, names in os.walk(root, onerror=refuse):
        # Recorded examples beside the record are none of it.
        if Path(directory) == root:
            folders[:] = [each for each in folders if each != EXAMPLES]
        for name in names:
            if _PERFLOG.match(name) or _PROVENANCE.match(name):
                yield Path(directory) / name


def plan(known: Iterable[Source], files: Iterable[Path]) -> Plan:
    """Which files are new and which go on, even if they were renamed or compressed meanwhile."""
    stamps = {path: Stamp.of(path) for path in files}
    waiting = dict(stamps)
    unchanged, moved = [], []
    continued: list[tuple[Source, Path, Stamp]] = []
    for source in known:
        if stamps.get(source.path) == source.stamp:
            unchanged.append(source)
            del waiting[source.path]
        elif source.path in waiting and _goes_on(source, source.path, waiting[source.path]):
            continued.append((source, source.path, waiting.pop(source.path)))
        else:
            moved.append(source)
    gone = []
    # The longest first: a short beginning fits more files.
    for source in sorted(moved, key=lambda each: -each.offset):
        path = next((path for path in waiting if _holds(source, path)), None)
        if path is None:
            gone.append(source)
        else:
            continued.append((source, path, waiting.pop(path)))
    return Plan(tuple(unchanged), tuple(continued), tuple(waiting.items()), tuple(gone))


def _goes_on(source: Source, path: Path, now: Stamp) -> bool:
    """Whether the file still begins with what was read; of the same file the edge is enough."""
    same = (now.device, now.inode) == (source.stamp.device, source.stamp.inode)
    if not same or path.suffix == ".gz":
        return _holds(source, path)
    if now.size < source.offset:
        return False
    return zlib.crc32(edge(path, source.offset)) == source.edge


def _holds(source: Source, path: Path) -> bool:
    """Whether a file begins with everything that was read from the source."""
    checksum, left = 0, source.offset
    try:
        for data in chunks(path):
            checksum = zlib.crc32(data[:left], checksum)
            left -= min(left, len(data))
            if not left:
                break
    except CutStreamError:
        return False
    return not left and checksum == source.checksum


def edge(path: Path, offset: int) -> bytes:
    """The last bytes before an offset, by which a file that only grew is known again.

    A compressed file has none: it would have to be unpacked for them.
    """
    if path.suffix == ".gz":
        return b""
    start = max(0, offset - EDGE)
    with path.open("rb") as file:
        file.seek(start)
        return file.read(offset - start)
