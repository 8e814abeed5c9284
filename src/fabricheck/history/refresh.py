"""Reading what is new into the store, in one transaction.

The store is a function of the files: what it holds is what reading all of them anew would give.
A file that grew, was renamed or compressed is read on; if lines are gone that were read, because a
file was removed, cut off or overwritten, everything is read anew.
"""

import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history import results
from fabricheck.history.catalog import DIMENSIONS, Catalog
from fabricheck.history.frame import KEY
from fabricheck.history.problems import Kind, Problem, merged
from fabricheck.history.reading import PerflogFile, ProvenanceFile, RecordFile
from fabricheck.history.segments import IDENTITY, Numbering, Segments
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

FUTURE: Final = timedelta(hours=1)
"""A time so much later than now is in the future; hosts' clocks may differ by less."""
OLDEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""No measurement is older; clocks without battery say 1970."""

_PENDING: Final = 1_000_000


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
        lost: what can't be read of compressed files, each in a sentence.
        rebuilt: why everything was read anew; empty if it was not.
        seconds: how long it took.
    """

    files: int = 0
    unchanged: int = 0
    sessions: int = 0
    values: int = 0
    problems: int = 0
    lost: list[str] = field(default_factory=list)
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
        except _OutdatedError as found:
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


class _OutdatedError(Exception):
    """Adding to what is there would give something else than reading everything."""


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
        self._segments = segments
        self._request = request
        self._accepted = catalog.accepted()
        self._numbers = {kind: Numbering(kind, catalog) for kind in DIMENSIONS}
        self._pending: list[pl.DataFrame] = []
        self._outcome = Outcome()

    def read(self, todo: Plan, databases: Sequence[Path]) -> Outcome:
        """Read what is new."""
        self._outcome.unchanged = len(todo.unchanged)
        for source, path, stamp in todo.continued:
            self._read_file(source, path, stamp)
        number = max((source.number for source in self._catalog.sources()), default=0)
        for each, (path, stamp) in enumerate(todo.new, start=number + 1):
            self._read_file(Source(each, path, stamp), path, stamp)
        for path in databases:
            self._read_database(path)
        self._flush()
        return self._outcome

    def _read_file(self, source: Source, path: Path, stamp: Stamp) -> None:
        with reading(path):
            read = self._read_lines(source, path)
        self._catalog.replace_cut(read.number, read.cut)
        self._outcome.problems += read.cut is not None
        if read.cut and read.cut.kind is Kind.LOST:
            self._outcome.lost.append(f"{path}, from {read.cut.where} on: {read.cut.detail}")
        self._outcome.files += read.lines > source.lines
        self._outcome.unchanged += read.lines == source.lines
        self._catalog.put_source(read.state(path, stamp))

    def _read_lines(self, source: Source, path: Path) -> RecordFile:
        if is_provenance(path):
            provenance = ProvenanceFile(source, path)
            for origins, problems in provenance.origins():
                known = self._catalog.add_origins(origins)
                self._keep_problems([*problems, *map(_known_line, known)], provenance)
            return provenance
        perflog = PerflogFile(source, path)
        for frame, problems in perflog.frames():
            self._take(frame, problems, perflog)
        return perflog

    def _take(self, frame: pl.DataFrame, problems: list[Problem], read: PerflogFile) -> None:
        frame, dated = self._dates(frame, read)
        values, units = self._number(frame)
        values, known = self._new_values(values, read)
        self._keep_problems([*problems, *dated, *units, *known], read)
        self._pend(values)

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
                raise _OutdatedError(f"sessions were removed from {path}")
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
        due = frame.filter(pl.col("time") <= self._request.now + FUTURE)
        self._outcome.sessions += 1
        self._outcome.problems += frame.height - due.height
        if not due.is_empty():
            values, units = self._number(due)
            for problem in units:
                self._let_pass(problem, where)
                self._catalog.accept([problem])
            values = values.with_columns(pl.lit(True).alias("stored"))  # noqa: FBT003
            values = values.unique(IDENTITY, keep="first", maintain_order=True)
            self._pend(values.join(self._matches(values), on=IDENTITY, how="anti"))
        return frame.height == due.height

    def _dates(self, frame: pl.DataFrame, read: PerflogFile) -> tuple[pl.DataFrame, list[Problem]]:
        """Sort out lines whose date can't be, and find where the clock went back."""
        if frame.is_empty():
            return frame, []
        limit = self._request.now + FUTURE
        times = frame["time"]
        problems = []
        if times.max() > limit:  # type: ignore[operator]
            late = frame.filter(times > limit).select("line", "time")
            problems += [
                _future(line, time, limit) for line, time in late.unique("line").iter_rows()
            ]
        if times.min() < OLDEST:  # type: ignore[operator]
            early = frame.filter(times < OLDEST).select("line", "time")
            problems += [
                Problem(Kind.DAMAGED, line, line, f"expected a time since 2000, found {time}")
                for line, time in early.unique("line").iter_rows()
            ]
        if problems:
            frame = frame.filter(times.is_between(OLDEST, limit))
        return frame, problems + read.jumps(frame)

    def _number(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
        """Numbers in place of texts, and series that are there already with another unit."""
        values = frame.with_columns(pl.lit(False).alias("stored"))  # noqa: FBT003
        found: list[Problem] = []
        for kind, numbering in self._numbers.items():
            values, new = numbering.number(values)
            if kind == "series" and not new.is_empty():
                found = _other_units(frame, new, numbering.known)
        return values, found

    def _matches(self, values: pl.DataFrame) -> pl.DataFrame:
        """What is there already with the identity of one of the values."""
        pending = [frame.select(*IDENTITY, "value", "stored") for frame in self._pending]
        known = pl.concat([self._segments.overlapping(values), *pending])
        return known.join(values.select(IDENTITY), on=IDENTITY, how="semi")

    def _new_values(
        self, values: pl.DataFrame, read: PerflogFile
    ) -> tuple[pl.DataFrame, list[Problem]]:
        """The values that are not there yet; those that are count as duplicate lines."""
        if values.is_empty():
            return values, []
        first = values.unique(IDENTITY, keep="first", maintain_order=True)
        matches = self._matches(values)
        if matches["stored"].any():
            raise _OutdatedError(f"{read.path} has what only the results database had")
        if first.height == values.height and matches.is_empty():
            return values, []
        again = values.join(first.select("line", *IDENTITY), on=["line", *IDENTITY], how="anti")
        known = pl.concat([matches, first.select(matches.columns)]).unique(
            IDENTITY, keep="first", maintain_order=True
        )
        repeated = pl.concat([again, first.join(matches, on=IDENTITY, how="semi")])
        compared = repeated.join(known, on=IDENTITY, suffix="_known")
        return first.join(matches, on=IDENTITY, how="anti"), list(_repetitions(compared))

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

    def _pend(self, values: pl.DataFrame) -> None:
        if values.is_empty():
            return
        self._outcome.values += values.height
        self._pending.append(values)
        if sum(frame.height for frame in self._pending) > _PENDING:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            self._segments.write(pl.concat(self._pending, how="diagonal"))
            self._pending.clear()


_ADVICE: Final = {
    Kind.CLOCK: "correct the dates, or let it pass with --tolerate clock",
    Kind.UNITS: "correct the lines, or let it be a series of its own with --tolerate units",
    Kind.SESSION: "remove the wrong one, or keep the first with --tolerate session",
}


def _other_units(frame: pl.DataFrame, new: pl.DataFrame, known: pl.DataFrame) -> list[Problem]:
    same = [name for name in KEY if name != "unit"]
    other = new.join(known, on=same, nulls_equal=True, suffix="_known").filter(
        (pl.col("unit") != pl.col("unit_known")) & (pl.col("series_id_known") < pl.col("series_id"))
    )
    if other.is_empty():
        return []
    lines = frame.join(other, on=list(KEY), nulls_equal=True).sort("line")
    return [
        Problem(
            Kind.UNITS,
            *(row["line"], row["line"]),
            f"expected the unit {row['unit_known']!r} as before for {row['check']} "
            f"{row['benchmark']} {row['metric']}, found {row['unit']!r}",
        )
        for row in lines.unique("line", maintain_order=True).iter_rows(named=True)
    ]


def _future(line: int, time: datetime, limit: datetime) -> Problem:
    detail = f"expected a time until {limit:%Y-%m-%d %H:%M}, found {time:%Y-%m-%d %H:%M}"
    return Problem(Kind.FUTURE, line, line, detail, (time - FUTURE).timestamp())


def _known_line(line: int) -> Problem:
    return Problem(Kind.DUPLICATE, line, line, "the record stands elsewhere already")


def _repetitions(compared: pl.DataFrame) -> Iterator[Problem]:
    for row in compared.unique("line", maintain_order=True).iter_rows(named=True):
        line, value, known = row["line"], row["value"], row["value_known"]
        if value == known:
            yield Problem(Kind.DUPLICATE, line, line, "the value stands elsewhere already")
        else:
            detail = (
                f"expected one value of job {row['job'] or '(none)'}, found {known} and {value}"
            )
            yield Problem(Kind.SESSION, line, line, f"{detail} for the same series and time")
