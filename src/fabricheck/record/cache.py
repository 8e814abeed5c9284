"""The record in columns: Parquet files of each record file, derived and deletable.

A record file is that of a month: once the month is over it does not change, and is not read again.
One that changed since the last refresh, as that of this month, is read whole.
"""

import json
import os
import re
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.locks import held
from fabricheck.record.columns import EMPTY, read_columns
from fabricheck.record.read import Problem, ProblemKind, read_bytes, record_files, shown

INDEX: Final = "index.json"
_VERSION: Final = "sources 4"
_PART: Final = re.compile(r"([0-9a-f]{24})([0-9a-f]{8})\.(cases|samples|others)\.parquet")
_LOCK: Final = ".lock"
_PATIENCE: Final = 10.0
_UNREAD: Final = (ProblemKind.LOST, ProblemKind.UNREAD)


@dataclass(frozen=True, slots=True)
class CacheSource:
    """What was read of a record file.

    Attributes:
        path: the file.
        number: of the file in the cache; the upper half of the numbers of its cases.
        stamp: device, inode, size and times of change as it was read.
        size: bytes of its whole lines, unpacked.
        checksum: CRC-32 of these bytes.
        lines: how many lines that was; likewise cases and values.
        part: name of its Parquet files.
        state: their checksums.
        problems: kind, line, and detail of each.
    """

    path: str
    number: int
    stamp: str
    size: int
    checksum: int
    lines: int
    cases: int
    values: int
    part: str
    state: str
    problems: Sequence[tuple[str, int, str]]

    @property
    def found(self) -> list[Problem]:
        """What is wrong with its lines."""
        path = Path(self.path)
        return [
            Problem(ProblemKind(kind), path, line, detail) for kind, line, detail in self.problems
        ]


@dataclass(slots=True)
class CacheOutcome:
    """What a refresh did.

    Attributes:
        files: record files that had something new.
        unchanged: those that had nothing new.
        cases: cases that are new.
        values: values that are new.
        problems: number of lines with a new problem.
        unread: files that can't be read to their end, or at all, each in a sentence.
        changed: files that changed since they were read, or are gone.
        seconds: how long it took.
    """

    files: int = 0
    unchanged: int = 0
    cases: int = 0
    values: int = 0
    problems: int = 0
    unread: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Cache:
    """A directory with an index and Parquet files.

    Args:
        directory: where it is.
        roots: where the record is.
        sources: the files that were read.
    """

    def __init__(
        self, directory: Path, roots: Sequence[Path] = (), sources: Iterable[CacheSource] = ()
    ) -> None:
        self.directory = directory
        self.roots = list(roots)
        self.sources = {source.path: source for source in sources}

    @classmethod
    def read(cls, directory: Path) -> "Cache":
        """What a directory holds; it may be read-only.

        Raises:
            FabricheckError: if there is no cache, or a damaged one.
        """
        index = directory / INDEX
        if not index.is_file():
            raise FabricheckError(
                f"FC0601 expected a history in {shown(directory)}, found none: make one with "
                "fabricheck history refresh, or name another with --store"
            )
        try:
            given = json.loads(index.read_bytes())
            sources = [CacheSource(**each) for each in given[_VERSION]]
            _ = [each.found for each in sources]
            return cls(directory, [Path(each) for each in given["roots"]], sources)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FabricheckError(
                f"FC0602 expected the index of a history in {shown(index)}, found {error!r}: it is "
                "damaged or of another version; remove it and read again with fabricheck history "
                "refresh, naming the places that are not the suite's own"
            ) from error

    @classmethod
    @contextmanager
    def to_read(cls, directory: Path) -> Iterator["Cache"]:
        """What a directory holds, while nobody changes it; it may be read-only.

        Raises:
            FabricheckError: if there is no cache, a damaged one, or one that is being changed.
        """
        # Who may only read can't hold a lock; checksums then show what was changed meanwhile.
        known = os.access(directory / _LOCK, os.R_OK)
        with _locked(directory, os.O_RDONLY) if known else nullcontext():
            yield cls.read(directory)

    @classmethod
    @contextmanager
    def to_write(cls, directory: Path) -> Iterator["Cache"]:
        """A cache that nobody else reads or changes meanwhile; an empty one where none is.

        Raises:
            FabricheckError: if the directory can't be written, is of somebody else, or is being
                changed by another process.
        """
        with writing(directory):
            directory.mkdir(parents=True, exist_ok=True)
            known = (directory / INDEX).is_file() and not (directory / INDEX).is_symlink()
            if not known:
                _refuse_foreign(directory)
            (directory / _LOCK).touch()
        with _locked(directory, os.O_RDWR):
            yield cls.read(directory) if (directory / INDEX).is_file() else cls(directory)

    def refresh(self, now: datetime) -> CacheOutcome:
        """Bring the columns up to the record files.

        Raises:
            FabricheckError: if a record file can't be read or the cache can't be written; the
                cache is then as it was.
        """
        outcome = CacheOutcome()
        files = self._files()
        found: dict[str, CacheSource] = {}
        outcome.changed = [shown(Path(path)) for path in self.sources if Path(path) not in files]
        numbers = count(max((source.number for source in self.sources.values()), default=0) + 1)
        for path in files:
            before = self.sources.get(str(path))
            number = before.number if before else next(numbers)
            found[str(path)] = self._brought_up(path, number, before, now, outcome)
        self._save(found)
        return outcome

    def _files(self) -> list[Path]:
        files: list[Path] = []
        for root in self.roots:
            below = record_files(root)
            if not below:
                raise FabricheckError(
                    f"FC0603 expected a record (<year>-<month>.jsonl) in {shown(root)}, found "
                    "none: run the checks first, import other formats with fabricheck history "
                    "import, see whether it is mounted, or name another directory with "
                    "--perflogs; nothing was changed"
                )
            files += below
        return sorted(set(files))

    def _brought_up(
        self,
        path: Path,
        number: int,
        before: CacheSource | None,
        now: datetime,
        outcome: CacheOutcome,
    ) -> CacheSource:
        stamp = _stamp(path)
        whole = before if before and self.is_whole(before) else None
        # A line of the future comes of age without a change of its file.
        if whole and stamp == whole.stamp and ProblemKind.FUTURE not in _kinds(whole):
            outcome.unchanged += 1
            return whole
        data, problems = read_bytes(path)
        grown = whole if whole and _begins_with(data, whole) else None
        if before and not grown:
            outcome.changed.append(shown(path))
        columns = read_columns(path, data, number, now)
        size = data.rfind(b"\n") + 1
        faults = [
            (str(each.kind), each.line, each.detail) for each in (*problems, *columns.problems)
        ]
        part = _part()
        after = CacheSource(
            path=str(path),
            number=number,
            stamp=stamp,
            size=size,
            checksum=zlib.crc32(memoryview(data)[:size]),
            lines=columns.lines,
            cases=columns.rows["cases"].height,
            values=columns.rows["samples"].height,
            part=part,
            state=self._write(part, columns.rows),
            problems=faults,
        )
        was = (grown.lines, grown.cases, grown.values) if grown else (0, 0, 0)
        is_new = (after.lines, after.cases, after.values) != was
        outcome.files += is_new
        outcome.unchanged += not is_new
        outcome.cases += after.cases - was[1]
        outcome.values += after.values - was[2]
        outcome.problems += len(set(faults) - set(map(tuple, grown.problems if grown else ())))
        outcome.unread += [str(each) for each in after.found if each.kind in _UNREAD]
        return after

    def _write(self, part: str, rows: Mapping[str, pl.DataFrame]) -> str:
        with writing(self.directory):
            for kind, frame in rows.items():
                frame.write_parquet(self._parquet(part, kind), compression="zstd")
            return self._state(part)

    def _save(self, sources: dict[str, CacheSource]) -> None:
        index = {
            "roots": [str(each) for each in self.roots],
            _VERSION: [asdict(each) for each in sources.values()],
        }
        path = self.directory / INDEX
        with writing(self.directory):
            new = path.with_name(f"{INDEX}.new")
            new.write_text(json.dumps(index))
            new.replace(path)
            self.sources = sources
            used = {each.part for each in sources.values()}
            for each in self.directory.iterdir():
                if is_part(each) and each.name.partition(".")[0] not in used:
                    each.unlink()

    def _parquet(self, part: str, kind: str) -> Path:
        return self.directory / f"{part}.{kind}.parquet"

    def _state(self, part: str) -> str:
        return " ".join(
            f"{zlib.crc32(self._parquet(part, kind).read_bytes()):08x}" for kind in EMPTY
        )

    def is_whole(self, source: CacheSource) -> bool:
        """Whether the columns of a record file are as they were written."""
        try:
            return bool(source.part) and self._state(source.part) == source.state
        except OSError:
            return False

    def scan(self, kind: str) -> pl.LazyFrame:
        """All rows: ``cases``, ``samples``, or ``others``, which are lines of nodes and sessions.

        Raises:
            FabricheckError: if something of it is missing or damaged.
        """
        for source in self.sources.values():
            if not self.is_whole(source):
                raise FabricheckError(
                    f"FC0604 expected the history in {shown(self.directory)} as it was written, "
                    f"found {source.part}.*.parquet missing or changed: read the record again with "
                    "fabricheck history refresh"
                )
        paths = [self._parquet(source.part, kind) for source in self.sources.values()]
        return pl.scan_parquet(paths, glob=False) if paths else EMPTY[kind].lazy()


def is_cache(path: Path) -> bool:
    """Whether a file belongs to a cache, by its name."""
    return path.name in (INDEX, f"{INDEX}.new", _LOCK) or is_part(path)


def is_part(path: Path) -> bool:
    """Whether a file is one of a cache's Parquet files: its name proves itself."""
    found = _PART.fullmatch(path.name)
    if not found or found[2] != _proof(found[1]):
        return False
    return path.is_file() and not path.is_symlink()


def _kinds(source: CacheSource) -> set[str]:
    return {kind for kind, *_ in source.problems}


def _begins_with(data: bytes, source: CacheSource) -> bool:
    """Whether a file only grew since it was read."""
    return zlib.crc32(memoryview(data)[: source.size]) == source.checksum


def _part() -> str:
    name = uuid.uuid4().hex[:24]
    return name + _proof(name)


def _proof(name: str) -> str:
    return f"{zlib.crc32(f'fabricheck {name}'.encode()):08x}"


def _refuse_foreign(directory: Path) -> None:
    """Refuse a directory that holds files and no index: they are not the cache's."""
    others = sorted(path.name for path in directory.iterdir() if not is_cache(path))
    if directory.joinpath(INDEX).is_symlink() or (directory / INDEX).exists():
        others.insert(0, INDEX)
    if others:
        raise FabricheckError(
            f"FC0605 expected a history or an empty directory at {shown(directory)}, found "
            f"{others[0]!r} and no history: name another place with --store; nothing was changed"
        )


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """What keeps a cache from being written, in the user's words."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        said = error.strerror if isinstance(error, OSError) else None
        raise FabricheckError(
            f"FC0606 cannot write the history {shown(directory)}: {said or error}: make room, give "
            "write permission, or name another place with --store"
        ) from error


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except FileNotFoundError:
        return "none"
    times = (found.st_mtime_ns, found.st_ctime_ns)
    return ":".join(map(str, (found.st_dev, found.st_ino, found.st_size, *times)))


def _locked(directory: Path, mode: int) -> AbstractContextManager[int]:
    """Hold the lock of a directory: alone to write, beside other readers to read."""
    return held(
        directory / _LOCK,
        f"expected the history in {shown(directory)} to be free within {_PATIENCE:g} s, found "
        "another process at work on it: wait for its end and try again",
        mode | os.O_NOFOLLOW,
        shared=mode == os.O_RDONLY,
        patience=_PATIENCE,
    )
