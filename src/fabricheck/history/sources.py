"""The files of the record: which there are, and which of them were read before, and how far."""

import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.history.lines import CutStreamError, chunks
from fabricheck.history.provenance import FILE

_PERFLOG = re.compile(r"[^.].*\.log(\.h?\d+)?(\.gz)?", re.DOTALL)
_PROVENANCE = re.compile(rf"{re.escape(FILE)}(\.\d+)?(\.gz)?")
EXAMPLES = "example"
HEAD: Final = 4096
_BUFFER: Final = 1 << 18
_ODD: Final[Mapping[int, str]] = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link to a file that is not there",
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells, without opening it, that a file is as it was."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """The stamp of a file now."""
        found = _stat(path)
        times = (found.st_mtime_ns, found.st_ctime_ns)
        return cls(found.st_dev, found.st_ino, found.st_size, *times)


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
        head: CRC-32 of the first 4096 of them.
        newest: the latest time on its lines, in seconds since 1970.
    """

    number: int
    path: Path
    stamp: Stamp
    offset: int = 0
    lines: int = 0
    checksum: int = 0
    head: int = 0
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
    return bool(_PROVENANCE.fullmatch(path.name))


def oddity(path: Path) -> str:
    """What a path is that is no plain file, in words; opening it could wait without end."""
    return _ODD.get(stat.S_IFMT(_stat(path).st_mode), "")


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        return path.lstat()


def shown(path: Path) -> str:
    """A path in one line of text, whatever bytes its name has."""
    letters = (each if each.isprintable() else ascii(each)[1:-1] for each in str(path))
    return "".join(letters)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What keeps a file from being read, in the user's words."""
    try:
        yield
    except OSError as error:
        raise FabricheckError(
            f"expected to read {shown(path)}, found: {error.strerror or error}: make it readable, "
            "or skip it with --skip; nothing was changed"
        ) from error


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
            if _PERFLOG.fullmatch(name) or _PROVENANCE.fullmatch(name):
                yield Path(directory) / name


def plan(known: Iterable[Source], files: Iterable[Path]) -> Plan:
    """Which files are new and which go on, even if they were renamed or compressed meanwhile."""
    stamps: dict[Path, Stamp] = {}
    for path in files:
        with reading(path):
            stamps[path] = Stamp.of(path)
    waiting = dict(stamps)
    unchanged, moved = [], []
    continued: list[tuple[Source, Path, Stamp]] = []
    for source in known:
        if stamps.get(source.path) == source.stamp:
            unchanged.append(source)
            del waiting[source.path]
        elif source.path in waiting and _holds(source, source.path):
            continued.append((source, source.path, waiting.pop(source.path)))
        else:
            moved.append(source)
    gone: list[Source] = []
    heads: dict[Path, int] = {}
    # The longest first: a short beginning fits more files.
    for source in sorted(moved, key=lambda each: -each.offset):
        found = next((path for path in waiting if _is_moved_to(source, path, heads)), None)
        if found is None:
            gone.append(source)
        else:
            continued.append((source, found, waiting.pop(found)))
    return Plan(tuple(unchanged), tuple(continued), tuple(waiting.items()), tuple(gone))


def _is_moved_to(source: Source, path: Path, heads: dict[Path, int]) -> bool:
    """Whether a file goes on a source; its first bytes, read once, mostly say that it does not."""
    if source.offset >= HEAD and not oddity(path):
        if path not in heads:
            heads[path] = _checksum(path, HEAD)
        if heads[path] != source.head:
            return False
    return _holds(source, path)


def _holds(source: Source, path: Path) -> bool:
    """Whether a file begins with everything that was read from the source."""
    if not source.offset or oddity(path):
        return not source.offset
    return _checksum(path, source.offset) == source.checksum


def _checksum(path: Path, length: int) -> int:
    """CRC-32 of the first bytes of a file, unpacked; -1 if it has not so many."""
    checksum = 0
    stream = chunks(path) if path.suffix == ".gz" else _buffers(path)
    with reading(path):
        try:
            for data in stream:
                checksum = zlib.crc32(data[:length], checksum)
                length -= min(length, len(data))
                if not length:
                    return checksum
        except CutStreamError:
            pass
    return -1


def _buffers(path: Path) -> Iterator[memoryview]:
    """The bytes of a file through one buffer: several times as fast as new bytes each time."""
    buffer = memoryview(bytearray(_BUFFER))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            yield buffer[:size]
