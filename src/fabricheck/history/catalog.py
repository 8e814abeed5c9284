"""The catalogue of the store: what was read, and which files hold it. One transaction, one truth.

SQLite holds what is small and must change at once: the sources, their problems, the dimensions
(series, sessions, provenance) and the names of the segments. The values are in the segments.
SQLite does not see a page that was changed behind its back, so the catalogue has a checksum.
"""

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history.database import WAIT, damaged, is_plain_file, translated
from fabricheck.history.frame import COLUMNS, KEY, PROVENANCE, SESSION, Schema
from fabricheck.history.problems import Kind, Problem
from fabricheck.history.provenance import Origin, read_line
from fabricheck.history.sources import Source, Stamp

DIMENSIONS: Final[Mapping[str, Schema]] = {
    "series": KEY,
    "session": SESSION,
    "provenance": PROVENANCE,
}
"""Combinations of texts that are kept once and numbered; the values hold the numbers."""

_FORMAT: Final = json.dumps([6, *COLUMNS])
_PUT_SOURCE: Final = "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# Paths are bytes: not every name of a file is text.
_TABLES: Final = """
CREATE TABLE about (format TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE roots (kind TEXT, path BLOB, PRIMARY KEY (kind, path));
CREATE TABLE sources (
    number INTEGER PRIMARY KEY, path BLOB, device INTEGER, inode INTEGER, size INTEGER,
    modified INTEGER, changed INTEGER, offset INTEGER, lines INTEGER, checksum INTEGER,
    head INTEGER, newest REAL
);
CREATE TABLE databases (path BLOB PRIMARY KEY, stamp TEXT, sessions TEXT);
CREATE TABLE problems (
    source INTEGER, kind TEXT, first INTEGER, last INTEGER, detail TEXT, expires REAL, session TEXT
);
CREATE TABLE accepted (kind TEXT, line INTEGER, detail TEXT);
CREATE TABLE segments (
    name TEXT PRIMARY KEY, bytes INTEGER, checksum INTEGER, rows INTEGER,
    oldest INTEGER, newest INTEGER,
    series_low INTEGER, series_high INTEGER
);
CREATE TABLE origins (line TEXT PRIMARY KEY);
CREATE TABLE dimensions (kind TEXT, number INTEGER, fields TEXT, PRIMARY KEY (kind, number));
"""
_EVERYTHING: Final = tuple(
    f"SELECT rowid, * FROM {table} ORDER BY rowid"  # noqa: S608
    for table in re.findall(r"CREATE TABLE (\w+)", _TABLES)
    if table != "about"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of values that never changes.

    Attributes:
        name: its name in the store.
        size: its bytes.
        checksum: CRC-32 of them.
        rows: how many values it holds.
        oldest: the earliest time in it, microseconds since 1970.
        newest: the latest.
        series_low: the lowest number of a series in it.
        series_high: the highest.
    """

    name: str
    size: int
    checksum: int
    rows: int
    oldest: int
    newest: int
    series_low: int
    series_high: int


class Catalog:
    """The catalogue of one store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    def open_to_read(cls, path: Path) -> "Catalog":
        """A catalogue as it is now, in memory, without changing anything.

        What others write from now on is not in it, so that all its tables belong together.

        Raises:
            FabricheckError: if there is none, it is damaged, no history's, or of another version.
        """
        if not (is_plain_file(path) and path.stat().st_size):
            raise FabricheckError(
                f"expected a history in {path.parent}, found none: read the record first with "
                "fabricheck history refresh, or name another place with --store"
            )
        with translated(path):
            _undo_what_was_killed(path)
            place = f"{path.absolute().as_uri()}?mode=ro"
            connect = sqlite3.connect(place, uri=True, timeout=WAIT, isolation_level=None)
            with closing(connect) as file:
                # Without a lock of ours, the copy would wait for a writer without end.
                file.execute("BEGIN")
                if cls(file).format(path) != _FORMAT:
                    raise FabricheckError(
                        f"expected a history of this version in {path.parent}, found another: "
                        "read the record again with fabricheck history refresh"
                    )
                catalog = cls(sqlite3.connect(":memory:", isolation_level=None))
                file.backup(catalog._db)
            catalog.check(path)
        return catalog

    @classmethod
    def open(cls, path: Path) -> "Catalog":
        """Open a catalogue, or make it; one of another version is emptied, as it is a cache.

        Raises:
            FabricheckError: if it can't be opened or written, is damaged, or no history's.
        """
        with translated(path):
            connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
        catalog = cls(connection)
        try:
            with catalog.transaction(path):
                if catalog.format(path) == _FORMAT:
                    catalog.check(path)
                else:
                    catalog.clear()
        except BaseException:
            catalog.close()
            raise
        return catalog

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def transaction(self, path: Path) -> Iterator[None]:
        """All changes or none; meanwhile nobody else may change it."""
        with translated(path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("UPDATE about SET checksum = ?", [self._checksum()])
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def format(self, path: Path) -> str:
        """What the catalogue says of its version; empty for a new one.

        Raises:
            FabricheckError: if it is no catalogue of a history.
        """
        tables = self._tables()
        if not tables and self._one("PRAGMA page_count") <= 1:
            return ""
        if "about" in tables:
            columns = {row[1] for row in self._db.execute("PRAGMA table_info(about)")}
            found = self._db.execute("SELECT format FROM about") if "format" in columns else ()
            for (text,) in found:
                if str(text).startswith("["):
                    return str(text)
        raise FabricheckError(
            f"expected the catalogue of a history in {path}, found a database without our mark: "
            "name another place with --store; nothing was changed"
        )

    def check(self, path: Path) -> None:
        """See whether everything is as it was written.

        Raises:
            FabricheckError: if it is not.
        """
        sound = self._one("PRAGMA integrity_check(1)") == "ok"
        if not (sound and self._one("SELECT checksum FROM about") == self._checksum()):
            raise damaged(path, "other bytes than were written")

    def clear(self) -> None:
        """Forget everything but the roots and what was accepted."""
        tables = self._tables()
        roots = self.roots() if "roots" in tables else []
        accepted = self.accepted() if "accepted" in tables else set()
        for name in tables:
            self._db.execute(f'DROP TABLE "{name}"')
        for statement in _TABLES.split(";\n"):
            self._db.execute(statement)
        self._db.execute("INSERT INTO about VALUES (?, 0)", [_FORMAT])
        for kind, root in roots:
            self.add_root(kind, root)
        self._db.executemany("INSERT INTO accepted VALUES (?, ?, ?)", accepted)

    def roots(self) -> list[tuple[str, Path]]:
        """Kind and place of everything that is read: ``perflogs``, ``results``, and ``skip``."""
        rows = self._db.execute("SELECT kind, path FROM roots ORDER BY kind, path")
        return [(kind, _path(path)) for kind, path in rows]

    def add_root(self, kind: str, root: Path) -> None:
        """Read this place from now on."""
        self._db.execute("INSERT OR IGNORE INTO roots VALUES (?, ?)", [kind, os.fsencode(root)])

    def sources(self) -> list[Source]:
        """Every file that was read."""
        rows = self._db.execute("SELECT * FROM sources ORDER BY number")
        return [Source(row[0], _path(row[1]), Stamp(*row[2:7]), *row[7:]) for row in rows]

    def put_source(self, source: Source) -> None:
        """Keep how far a file was read."""
        stamp = source.stamp
        row = (
            *(source.number, os.fsencode(source.path)),
            *(stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed),
            *(source.offset, source.lines, source.checksum, source.head, source.newest),
        )
        self._db.execute(_PUT_SOURCE, row)

    def databases(self) -> dict[Path, tuple[str, frozenset[str]]]:
        """Stamp and sessions of every results database that was read."""
        rows = self._db.execute("SELECT path, stamp, sessions FROM databases")
        return {_path(path): (stamp, frozenset(json.loads(uuids))) for path, stamp, uuids in rows}

    def put_database(self, path: Path, stamp: str, sessions: Sequence[str]) -> None:
        """Keep which sessions of a results database were read."""
        row = (stamp, json.dumps(sorted(sessions)), self.database_number(path))
        self._db.execute("UPDATE databases SET stamp = ?, sessions = ? WHERE rowid = -?", row)

    def database_number(self, path: Path) -> int:
        """Identity of a results database in the store, below those of sources."""
        row = (os.fsencode(path), "", "[]")
        self._db.execute("INSERT OR IGNORE INTO databases VALUES (?, ?, ?)", row)
        return next(number for number, each in self.database_paths().items() if each == path)

    def database_paths(self) -> dict[int, Path]:
        """Every results database by its number."""
        rows = self._db.execute("SELECT -rowid, path FROM databases")
        return {number: _path(path) for number, path in rows}

    def problems(self) -> list[tuple[int, Problem]]:
        """Every problem with the number of its source."""
        rows = self._db.execute("SELECT * FROM problems ORDER BY source, first")
        return [(row[0], Problem(Kind(row[1]), *row[2:])) for row in rows]

    def add_problems(self, source: int, problems: Sequence[Problem]) -> None:
        """Keep problems of a source."""
        self._db.executemany(
            "INSERT INTO problems VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(source, p.kind, p.first, p.last, p.detail, p.expires, p.session) for p in problems],
        )

    def forget_problems(self, source: int, session: str) -> None:
        """Forget what was wrong with a session of a results database."""
        query = "DELETE FROM problems WHERE source = ? AND session = ?"
        self._db.execute(query, [source, session])

    def replace_cut(self, source: int, cut: Problem | None) -> None:
        """Keep where a source is cut now, if it is, or unread, and forget where it was."""
        query = "DELETE FROM problems WHERE source = ? AND kind IN (?, ?, ?)"
        self._db.execute(query, [source, Kind.CUT, Kind.LOST, Kind.UNREAD])
        self.add_problems(source, [cut] if cut else [])

    def accepted(self) -> set[tuple[str, int, str]]:
        """Kind, line and detail of what a person has looked at and let pass."""
        return set(self._db.execute("SELECT kind, line, detail FROM accepted"))

    def accept(self, problems: Sequence[Problem]) -> None:
        """Let these pass from now on."""
        rows = [(p.kind, p.first, p.detail) for p in problems]
        self._db.executemany("INSERT INTO accepted VALUES (?, ?, ?)", rows)

    def origins(self) -> list[Origin]:
        """The provenance of every session, in the order in which it was read."""
        return [
            read_line(line)
            for (line,) in self._db.execute("SELECT line FROM origins ORDER BY rowid")
        ]

    def add_origins(self, origins: Sequence[tuple[int, Origin]]) -> list[int]:
        """Keep records of provenance; the numbers of those lines that are there already."""
        query = "INSERT OR IGNORE INTO origins VALUES (?)"
        return [
            number
            for number, each in origins
            if not self._db.execute(query, [each.line()]).rowcount
        ]

    def segments(self) -> list[Segment]:
        """The files that hold the values."""
        return [Segment(*row) for row in self._db.execute("SELECT * FROM segments ORDER BY name")]

    def add_segment(self, segment: Segment) -> None:
        """Make a segment part of the history."""
        row = (
            *(segment.name, segment.size, segment.checksum, segment.rows),
            *(segment.oldest, segment.newest, segment.series_low, segment.series_high),
        )
        self._db.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def remove_segments(self, names: Sequence[str]) -> None:
        """Make segments no longer part of the history."""
        self._db.executemany("DELETE FROM segments WHERE name = ?", [[name] for name in names])

    def dimension(self, kind: str) -> pl.DataFrame:
        """The combinations of a dimension with their numbers, in the column ``<kind>_id``."""
        rows = self._db.execute(
            "SELECT number, fields FROM dimensions WHERE kind = ? ORDER BY number", [kind]
        )
        return pl.DataFrame(
            [(number, *json.loads(fields)) for number, fields in rows],
            schema={f"{kind}_id": pl.UInt32, **DIMENSIONS[kind]},
            orient="row",
        )

    def add_to_dimension(self, kind: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Keep combinations: the number of each, and its fields."""
        self._db.executemany(
            "INSERT INTO dimensions VALUES (?, ?, ?)",
            [(kind, number, json.dumps(fields)) for number, *fields in rows],
        )

    def _tables(self) -> list[str]:
        rows = self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [name for (name,) in rows]

    def _checksum(self) -> int:
        """CRC-32 of all rows but the one that holds it."""
        found = 0
        for query in _EVERYTHING:
            for row in self._db.execute(query):
                found = zlib.crc32(repr((query, row)).encode(errors="replace"), found)
        return found

    def _one(self, query: str) -> Any:
        return self._db.execute(query).fetchone()[0]


def _path(name: bytes | str) -> Path:
    return Path(os.fsdecode(name))


def _undo_what_was_killed(path: Path) -> None:
    """A writer that was killed left a journal; only who may write can undo what it had begun."""
    if path.with_name(f"{path.name}-journal").exists():
        with closing(sqlite3.connect(path, timeout=WAIT)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
