"""Reading what is new into the store, in one transaction.

The store is a function of the files: what it holds is what reading all of them anew would give.
A file that grew, was renamed or compressed is read on; if lines are gone that were read, because a
file was removed, cut off or overwritten, everything is read anew.
"""

import time as clock
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history import results
from fabricheck.history.batch import Batch
from fabricheck.history.catalog import Catalog
from fabricheck.history.intake import Intake, OutdatedError
from fabricheck.history.layout import NoLayout
from fabricheck.history.lines import BLOCK
from fabricheck.history.problems import Kind, Located, Problem, merged
from fabricheck.history.reading import PerflogFile, ProvenanceFile, RecordFile
from fabricheck.history.segments import Segments
from fabricheck.history.sources import (
    Plan,
    Source,
    Stamp,
    is_provenance,
    oddity,
    plan,
    reading,
    record_files,
    shown,
)


@dataclass(frozen=True, slots=True)
class Request:
    """What to read.

    Attributes:
        perflogs: directories or files to read from now on, beside those that the store knows.
        results: results databases likewise.
        skip: patterns of perflogs to leave out from now on.
        tolerate: problems that a person has looked at and lets pass.
        rebuild: forget everything and read it anew.
        now: the time that no line may be later than.
    """

    perflogs: Sequence[Path] = ()
    results: Sequence[Path] = ()
    skip: Sequence[str] = ()
    tolerate: frozenset[Kind] = frozenset()
    rebuild: bool = False
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(slots=True)
class Outcome:
    """What a refresh did.

    Attributes:
        files: perflogs and files of provenance that had something new.
        unchanged: those that had nothing new.
        sessions: sessions read from results databases.
        values: values that are new in the history.
        problems: number of lines with a new problem.
        unread: files that can't be read to their end, or at all, each in a sentence.
        rebuilt: why everything was read anew; empty if it was not.
        seconds: how long it took.
    """

    files: int = 0
    unchanged: int = 0
    sessions: int = 0
    values: int = 0
    problems: int = 0
    unread: list[str] = field(default_factory=list)
    rebuilt: str = ""
    seconds: float = 0.0


def refresh(catalog: Catalog, segments: Segments, request: Request) -> Outcome:
    """Bring the store up to the files. The caller holds the transaction.

    Raises:
        FabricheckError: if something stands against it; the transaction must then be undone.
    """
    began = clock.monotonic()
    for root in request.perflogs:
        catalog.add_root("perflogs", root.absolute())
    for path in request.results:
        catalog.add_root("results", path.absolute())
    for pattern in request.skip:
        catalog.add_root("skip", Path(pattern))
    files = _files(catalog)
    databases = [path for kind, path in catalog.roots() if kind == "results"]
    segments.remove_orphans()
    todo = plan(catalog.sources(), files)
    reason = _why_anew(catalog, segments, request, todo)
    if not reason:
        reader = _Reader(catalog, segments, request)
        try:
            outcome = reader.read(todo, databases)
        except OutdatedError as found:
            reason = str(found)
    if reason:
        _accept_problems(catalog)
        catalog.clear()
        reader = _Reader(catalog, segments, request)
        outcome = reader.read(plan([], files), databases)
        outcome.rebuilt = reason
    segments.compact()
    outcome.seconds = clock.monotonic() - began
    return outcome


def _files(catalog: Catalog) -> list[Path]:
    roots = [path for kind, path in catalog.roots() if kind == "perflogs"]
    skip = [str(pattern) for kind, pattern in catalog.roots() if kind == "skip"]
    found = {root: record_files(root, skip) for root in roots}
    for root, files in found.items():
        if all(map(is_provenance, files)):
            raise FabricheckError(
                f"expected perflogs (*.log, *.log.h0, *.log.gz) in {root}, found none: run the "
                "checks first, see whether it is mounted, or name another directory with "
                "--perflogs; nothing was changed"
            )
    return sorted({path for files in found.values() for path in files})


def _why_anew(catalog: Catalog, segments: Segments, request: Request, todo: Plan) -> str:
    if request.rebuild:
        return "asked for"
    if not segments.are_whole():
        return "the store was damaged"
    if todo.gone:
        others = f" and {len(todo.gone) - 1} more" if len(todo.gone) > 1 else ""
        return (
            f"lines that were read are gone: {shown(todo.gone[0].path)}{others} changed or is away"
        )
    dates = [problem.expires for _, problem in catalog.problems() if problem.expires]
    if any(date <= request.now.timestamp() for date in dates):
        return "lines dated in the future have come of age"
    return ""


def _accept_problems(catalog: Catalog) -> None:
    catalog.accept([problem for _, problem in catalog.problems() if problem.kind.stops])


class _Reader:
    """Reads files and databases into the segments."""

    def __init__(self, catalog: Catalog, segments: Segments, request: Request) -> None:
        self._catalog = catalog
        self._request = request
        self._accepted = catalog.accepted()
        self._intake = Intake(catalog, segments, request.now)
        self._batches: dict[Hashable, Batch] = {}
        self._gathered = 0
        self._files: dict[int, PerflogFile] = {}
        self._outcome = Outcome()

    def read(self, todo: Plan, databases: Sequence[Path]) -> Outcome:
        """Read what is new."""
        self._outcome.unchanged = len(todo.unchanged)
        number = max((source.number for source in self._catalog.sources()), default=0)
        new = [
            (Source(each, path, stamp), path, stamp)
            for each, (path, stamp) in enumerate(todo.new, start=number + 1)
        ]
        read = [
            (self._read_file(source, path), source, path, stamp)
            for source, path, stamp in [*todo.continued, *new]
        ]
        self._convert()
        for file, source, path, stamp in read:
            self._keep_state(file, source, path, stamp)
        for path in databases:
            self._read_database(path)
        self._intake.end()
        self._outcome.values = self._intake.taken
        return self._outcome

    def _read_file(self, source: Source, path: Path) -> RecordFile:
        with reading(path):
            if is_provenance(path):
                provenance = ProvenanceFile(source, path)
                for origins, problems in provenance.origins():
                    known = self._catalog.add_origins(origins)
                    self._keep_problems([*problems, *map(_known_line, known)], provenance)
                return provenance
            perflog = PerflogFile(source, path)
            for layout, block in perflog.parts():
                self._files[source.number] = perflog
                if isinstance(layout, NoLayout) and block.first_line == 1:
                    self._outcome.unread.append(f"{shown(path)}: {layout.fault}")
                self._batches.setdefault(layout.kin, Batch(layout)).add(source.number, block)
                self._gathered += len(block.data)
                if self._gathered >= BLOCK:
                    self._convert()
            return perflog

    def _convert(self) -> None:
        """Take the values of all lines that were gathered."""
        frames, problems = [], list[Located]()
        for batch in self._batches.values():
            frame, found = batch.read()
            frames.append(frame)
            problems += found
        self._batches.clear()
        self._gathered = 0
        if frames:
            problems += self._intake.take(pl.concat(frames), self._files)
        by_source = defaultdict[int, list[Problem]](list)
        for source, problem in problems:
            by_source[source].append(problem)
        for source in sorted(by_source):
            self._keep_problems(by_source[source], self._files[source])

    def _keep_state(self, file: RecordFile, source: Source, path: Path, stamp: Stamp) -> None:
        self._catalog.replace_cut(file.number, file.cut)
        self._outcome.problems += file.cut is not None
        if file.cut and file.cut.kind is not Kind.CUT:
            self._outcome.unread.append(f"{shown(path)}, {file.cut.where}: {file.cut.detail}")
        self._outcome.files += file.lines > source.lines
        self._outcome.unchanged += file.lines == source.lines
        self._catalog.put_source(file.state(path, stamp))

    def _read_database(self, path: Path) -> None:
        if path.exists() and (odd := oddity(path)):
            raise FabricheckError(
                f"expected ReFrame's results database in {path}, found {odd}: name another file "
                "with --results; nothing was changed"
            )
        stamp = repr(Stamp.of(path)) if path.exists() else ""
        before, known = self._catalog.databases().get(path, ("", frozenset()))
        if stamp and stamp == before:
            return
        with results.opened(path) as database:
            found = database.sessions()
            if known - found:
                raise OutdatedError(f"sessions were removed from {path}")
            number = self._catalog.database_number(path)
            early, damaged = set(), set()
            for uuid in sorted(found - known):
                frame, problems = database.read(uuid)
                if not self._take_session(frame, f"{path}, session {uuid}"):
                    early.add(uuid)
                if any(not problem.first for problem in problems):
                    damaged.add(uuid)
                self._catalog.forget_problems(number, uuid)
                self._keep(problems, number)
        # A session of the future is read again when its time has come, a damaged one when the
        # database has changed.
        self._catalog.put_database(path, "" if early else stamp, sorted(found - early - damaged))

    def _take_session(self, frame: pl.DataFrame, where: str) -> bool:
        """Take what is dated until now, and say whether that was all."""
        due = frame.filter(pl.col("time") <= self._intake.limit)
        self._outcome.sessions += 1
        self._outcome.problems += frame.height - due.height
        if not due.is_empty():
            for problem in self._intake.take_stored(due):
                self._let_pass(problem, where)
                self._catalog.accept([problem])
        return frame.height == due.height

    def _keep_problems(self, problems: Sequence[Problem], read: RecordFile) -> None:
        kept = merged(problems)
        for problem in kept:
            self._let_pass(problem, f"{shown(read.path)}, {problem.where}")
        self._keep(kept, read.number)

    def _keep(self, problems: Sequence[Problem], number: int) -> None:
        if problems:
            self._catalog.add_problems(number, problems)
            self._outcome.problems += sum(problem.lines for problem in problems)

    def _let_pass(self, problem: Problem, where: str) -> None:
        """Stop at a problem that nobody has let pass."""
        if not problem.kind.stops or problem.kind in self._request.tolerate:
            return
        if (problem.kind, problem.first, problem.detail) not in self._accepted:
            raise FabricheckError(
                f"{where}: {problem.detail}: {_ADVICE[problem.kind]}; nothing was changed"
            )


_ADVICE: Final = {
    Kind.CLOCK: "correct the dates, or let it pass with --tolerate clock",
    Kind.UNITS: "correct the lines, or let it be a series of its own with --tolerate units",
    Kind.SESSION: "remove the wrong one, or keep the first with --tolerate session",
}


def _known_line(line: int) -> Problem:
    return Problem(Kind.DUPLICATE, line, line, "the record stands elsewhere already")
