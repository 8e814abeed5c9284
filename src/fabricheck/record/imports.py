"""Other formats as files of the record: what ReFrame, Ramble and SuperBench write.

Each source becomes a file ``imported/imported-<name>-<hash>.jsonl`` of its own, written whole, so
that importing it again after it has changed leaves nothing of before.
"""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import CaseEntry, Entry, to_line
from fabricheck.record.mapping import Renaming, read_mappings
from fabricheck.record.others import entries_of_json, entries_of_node_lines
from fabricheck.record.perflog import cases_of
from fabricheck.record.read import Problem, ProblemKind, read_bytes, shown, whole_lines
from fabricheck.record.reframe_report import entries_of_report, in_words
from fabricheck.record.write import locked

IMPORTED: Final = "imported"
_PERFLOG: Final = re.compile(r"[^.].*\.log(\.h?\d+)?(\.gz)?", re.DOTALL)
_SQLITE: Final = b"SQLite format 3\0"
_VERSION: Final = "1.0"
_WAIT: Final = 10.0
_TEXTS: Final = ("time", "session", "system", "partition")


@dataclass(slots=True)
class Imported:
    """What an import did.

    Attributes:
        files: sources that were read.
        cases: cases that they hold.
        values: values of these cases.
        unmeasured: variables of theirs without a value.
        renamed: values that a mapping turned into those of this suite.
        problems: what is wrong with them.
    """

    files: int = 0
    cases: int = 0
    values: int = 0
    unmeasured: int = 0
    renamed: int = 0
    problems: list[Problem] = field(default_factory=list)


def import_all(
    sources: Sequence[Path],
    perflogs: Path,
    formats: Sequence[str] = (),
    mappings: Sequence[str] = (),
) -> Imported:
    """Make files of the record from sources.

    Args:
        sources: files, or directories with perflogs.
        perflogs: the record.
        formats: of perflogs without a header, as ``perflog.cases_of`` takes them.
        mappings: as ``mapping.read_mappings`` takes them.

    Raises:
        FabricheckError: if a source is missing, locked or none of these, or the record can't be
            written.
    """
    done, renaming = Imported(), read_mappings(mappings)
    for source in sources:
        for path in _files(source):
            entries, problems = _entries(path, formats)
            done.problems += problems
            if renaming:
                entries = [_renamed(each, renaming, path, done) for each in entries]
            _write(perflogs, path.absolute(), entries)
            done.files += 1
            cases = [each for each in entries if isinstance(each, CaseEntry)]
            done.cases += len(cases)
            samples = [sample for case in cases for sample in case.samples]
            measured = sum(each.value is not None for each in samples)
            done.values += measured
            done.unmeasured += len(samples) - measured
    return done


def _renamed(entry: Entry, renaming: Renaming, path: Path, done: Imported) -> Entry:
    """An entry in the words of this suite; as it is where the mapping makes nothing of it."""
    if not isinstance(entry, CaseEntry):
        return entry
    try:
        case, count = renaming.applied(entry)
    except (FabricheckError, ValueError) as error:
        done.problems.append(Problem(ProblemKind.DAMAGED, path, 0, str(error)))
        return entry
    done.renamed += count
    return case


def _files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    found = sorted(path for path in source.rglob("*") if _PERFLOG.fullmatch(path.name))
    if not found:
        raise FabricheckError(
            f"FC0607 expected perflogs (*.log, *.log.h0, *.log.gz) in {shown(source)}, found none: "
            "name another directory, a run report or a results database"
        )
    return found


def _entries(path: Path, formats: Sequence[str]) -> tuple[list[Entry], list[Problem]]:
    if not path.exists():
        raise FabricheckError(
            f"FC0608 expected a perflog, run report or results database at {shown(path)}, found no "
            "such file: name an existing one"
        )
    data, problems = read_bytes(path)
    if data.startswith(_SQLITE):
        found, more = _from_database(path)
        return found, problems + more
    if path.suffix == ".json":
        try:
            found, more = entries_of_json(data, path.resolve())
        except ValueError as error:
            raise FabricheckError(
                f"FC0609 {shown(path)}: {error}: name an undamaged file"
            ) from error
        return found, problems + more
    if path.suffix == ".jsonl":
        found, more = entries_of_node_lines(data, path)
        return found, problems + more
    lines, cut = whole_lines(data, path)
    cases, more = cases_of(lines, path, formats)
    return list(cases), problems + more + cut


def _write(perflogs: Path, source: Path, entries: Sequence[Entry]) -> None:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", source.name)[:100]
    digest = sha256(str(source).encode(errors="surrogateescape")).hexdigest()[:12]
    path = perflogs / IMPORTED / f"imported-{name}-{digest}.jsonl"
    text = "".join(map(to_line, entries))
    try:
        with locked(path):
            if path.is_file() and path.read_text() == text:
                return
            new = path.with_name(f".{path.name}.new")
            new.write_text(text)
            new.replace(path)
    except OSError as error:
        raise FabricheckError(
            f"FC0610 expected to write the record {shown(path)}, found: {error.strerror}: make "
            "room or give write permission"
        ) from error


def _from_database(path: Path) -> tuple[list[Entry], list[Problem]]:
    """The cases of ReFrame's results database, of 4.7 or later.

    ReFrame's own commands write to the database that they read (indices, its version), so it is
    opened here, read-only. What is read is its version and the run report of each session, which
    ReFrame documents.
    """
    place = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=_WAIT)) as db:
            # What is no text is found where it stands.
            db.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            _check_version(db, path)
            return _of_sessions(db, path)
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            raise FabricheckError(
                f"FC0611 expected to read ReFrame's results database {shown(path)}, found it "
                f"locked by another process for {_WAIT:g} s: wait for its end and try again"
            ) from error
        raise FabricheckError(
            f"FC0612 expected ReFrame's results database in {shown(path)}, found: {error}: name "
            "another file, or give read permission"
        ) from error


def _of_sessions(db: sqlite3.Connection, path: Path) -> tuple[list[Entry], list[Problem]]:
    found: list[Entry] = []
    problems: list[Problem] = []
    for uuid, text in db.execute("SELECT uuid, json_blob FROM sessions ORDER BY rowid"):
        try:
            entries, more = entries_of_report(text, path)
        except (ValueError, TypeError) as error:
            detail = f"session {uuid!a}: {in_words(error)}"
            problems.append(Problem(ProblemKind.DAMAGED, path, 0, detail))
            continue
        found += entries
        problems += more
    return found, problems


def _check_version(db: sqlite3.Connection, path: Path) -> None:
    found = [version for (version,) in db.execute("SELECT schema_version FROM metadata")]
    if found != [_VERSION]:
        named = ", ".join(map(str, found)) or "none"
        raise FabricheckError(
            f"FC0613 expected version {_VERSION} of ReFrame's results database in {shown(path)}, "
            f"found {named}: it was written by another version of ReFrame; import it with the "
            "fabricheck that came with it"
        )
