"""Reading the record line by line: what is damaged is named, and costs only itself."""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import CaseEntry, Entry, Nodes, Session, from_line, is_sound

EXAMPLES: Final = "example"
_RECORD: Final = re.compile(r"(\d{4}-\d\d|imported-[^/]+)\.jsonl(\.gz)?")
IMPORTED_DAY: Final = "imported-"
_DAY: Final = re.compile(rf"{IMPORTED_DAY}(\d{{4}}-\d\d-\d\d)", re.ASCII)
_GZIP: Final = 31


class ProblemKind(StrEnum):
    """What can be wrong with a line."""

    DAMAGED = "damaged"
    CUT = "cut"
    LOST = "lost"
    DUPLICATE = "duplicate"
    FUTURE = "future"
    CLOCK = "clock"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line.

    Attributes:
        kind: what is wrong.
        path: the file.
        line: number of the line, from 1; 0 for the file as a whole.
        detail: what was expected and found, in words.
    """

    kind: ProblemKind
    path: Path
    line: int
    detail: str

    def __str__(self) -> str:
        where = f", line {self.line}" if self.line else ""
        return f"{self.kind}: {shown(self.path)}{where}: {self.detail}"


def shown(path: Path) -> str:
    """A path in one line of text, whatever bytes its name has."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in str(path))


def record_files(root: Path) -> list[Path]:
    """The files of the record below a directory, or the file itself; other files are none of it.

    Raises:
        FabricheckError: if there is no such directory or file, or it can't be listed.
    """
    if not root.exists():
        raise FabricheckError(
            f"FC0614 expected a record in {shown(root)}, found no such directory or file: run the "
            "checks first, or name an existing one with --perflogs"
        )
    return [root] if not root.is_dir() else sorted(_walk(root))


def _walk(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise FabricheckError(
            f"FC0615 expected a directory that can be listed at {error.filename}, found: "
            f"{error.strerror}: give read permission"
        ) from error

    for directory, folders, names in os.walk(root, onerror=refuse):
        # Recorded examples beside the record are none of it.
        if Path(directory) == root:
            folders[:] = [each for each in folders if each != EXAMPLES]
        yield from (Path(directory) / name for name in names if _RECORD.fullmatch(name))


def read_bytes(path: Path) -> tuple[bytes, list[Problem]]:
    """What stands in a file, unpacked if it is compressed.

    Raises:
        FabricheckError: if it can't be read.
    """
    # Opening a named pipe could wait without end.
    if not path.is_file():
        return b"", [Problem(ProblemKind.UNREAD, path, 0, "expected a file, found something else")]
    try:
        with path.open("rb") as file:
            data = file.read()
            return _unpacked(data, path) if path.suffix == ".gz" else (data, [])
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> FabricheckError:
    return FabricheckError(
        f"FC0616 expected to read {shown(path)}, found: {error.strerror or error}: make it readable"
    )


def _unpacked(packed: bytes, path: Path) -> tuple[bytes, list[Problem]]:
    parts, problems = [], []
    while packed := packed.lstrip(b"\0"):
        unpack = zlib.decompressobj(wbits=_GZIP)
        try:
            # In pieces, so that what stands before damage is kept.
            for begin in range(0, len(packed), 4096):
                parts.append(unpack.decompress(packed[begin : begin + 4096]))
                if unpack.eof:
                    packed = unpack.unused_data + packed[begin + 4096 :]
                    break
        except zlib.error as error:
            unpack, fault = zlib.decompressobj(), f"damage ({error})"
        else:
            fault = "its end"
        if not unpack.eof:
            data = b"".join(parts)
            detail = (
                f"expected compressed data to go on, found {fault}: the part before was read, "
                "the part after is lost; replace it with an undamaged copy"
            )
            problems.append(Problem(ProblemKind.LOST, path, data.count(b"\n") + 1, detail))
            break
    return b"".join(parts), problems


def whole_lines(data: bytes, path: Path) -> tuple[list[bytes], list[Problem]]:
    """The whole lines of some bytes; one without its end is cut: its writer may be at work."""
    *lines, rest = data.split(b"\n")
    return lines, [_cut(path, len(lines) + 1)] if rest else []


def _cut(path: Path, number: int) -> Problem:
    return Problem(ProblemKind.CUT, path, number, "expected a newline at its end, found none")


def entries(path: Path) -> tuple[list[Entry], list[Problem]]:
    """The entries of a file, and what is wrong with its lines.

    Raises:
        FabricheckError: if it can't be read.
    """
    data, problems = read_bytes(path)
    lines, cut = whole_lines(data, path)
    found = [entry for _, entry in decoded(lines, path, problems)]
    return found, problems + cut


def decoded(
    lines: Iterable[bytes], path: Path, problems: list[Problem], first: int = 1
) -> Iterator[tuple[int, Entry]]:
    """The entries of some lines with their numbers; damaged ones are added to the problems."""
    for number, line in enumerate(lines, start=first):
        try:
            yield number, from_line(line)
        except ValueError as error:
            problems.append(Problem(ProblemKind.DAMAGED, path, number, str(error)))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What the record holds of one session.

    Attributes:
        session: its identity.
        end: what was recorded at its end; ``None`` while it runs, and if it was killed.
        cases: its cases in the order of the record, every attempt of each.
        nodes: on what and with what they ran.
        problems: what is wrong with lines of the files that it stands in, or may stand in.
    """

    session: str
    end: Session | None
    cases: Sequence[CaseEntry]
    nodes: Sequence[Nodes]
    problems: Sequence[Problem]


def read_session(
    perflogs: Path, session: str, keep: Callable[[CaseEntry], CaseEntry] = lambda case: case
) -> RecordedRun:
    """Everything that the record holds of a session.

    Lines of other sessions are checked and not decoded.

    Args:
        perflogs: the record.
        session: its identity; ``imported-2020-09-11`` for what was imported of a day (UTC) without
            a name of its session, which then has an end as well.
        keep: what of a case is kept; of thousands, all values take much memory.

    Raises:
        FabricheckError: if it holds nothing of it, or can't be read.
    """
    problems: list[Problem] = []
    day = _DAY.fullmatch(session)
    found = [
        keep(entry) if isinstance(entry, CaseEntry) else entry
        for path in _files_of(perflogs, "" if day else session)
        for entry in _of_session(path, "" if day else session, problems)
        if not day or entry.time.startswith(day[1])
    ]
    if day and found:
        *_, last = ordered = sorted(found, key=lambda entry: entry.time)
        info = {"time_start": ordered[0].time, "time_end": last.time}
        found.append(
            Session(
                time=last.time,
                session=session,
                system=last.system,
                announced=len(found),
                info=info,
            )
        )
    if not found:
        raise FabricheckError(
            f"FC0617 expected session {session!r} in the record {shown(perflogs)}, found nothing "
            "of it: name one that the record has; fabricheck report shows the newest ones"
        )
    return RecordedRun(
        session,
        next((each for each in reversed(found) if isinstance(each, Session)), None),
        [each for each in found if isinstance(each, CaseEntry)],
        [each for each in found if isinstance(each, Nodes)],
        problems,
    )


def _files_of(perflogs: Path, session: str) -> list[Path]:
    """The files that hold a session, and those of the same months, whose damage may be its.

    What has no session was imported.
    """
    files = record_files(perflogs)
    if not session:
        return [path for path in files if path.name.startswith(IMPORTED_DAY)]
    name = f'"{session}"'.encode()
    months = {path.name for path in files if any(name in line for line in _lines(path, []))}
    return [path for path in files if path.name in months]


def _of_session(path: Path, session: str, problems: list[Problem]) -> Iterator[Entry]:
    """What a file has of a session; what is wrong with any of its lines is added to the problems.

    A line of another session that is as it was written is not decoded.
    """
    name = f'"{session}"'.encode() if session else b""
    for number, line in enumerate(_lines(path, problems), start=1):
        if name in line or not is_sound(line):
            for _, entry in decoded([line], path, problems, number):
                if entry.session == session:
                    yield entry


def _lines(path: Path, problems: list[Problem]) -> Iterator[bytes]:
    """The whole lines of a file; a plain file is not held in memory.

    Raises:
        FabricheckError: if it can't be read.
    """
    if path.suffix == ".gz" or not path.is_file():
        data, odd = read_bytes(path)
        lines, cut = whole_lines(data, path)
        problems += odd + cut
        yield from lines
        return
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    problems.append(_cut(path, number))
                    return
                yield line[:-1]
    except OSError as error:
        raise _unreadable(path, error) from error
