"""ReFrame's results database, of 4.7 or later: sessions that are not yet in the history.

ReFrame's own commands write to the database that they read (indices, its version) and can't tell
what is new without giving everything, so it is opened here, read-only. What is read of it is its
version, the identities of the sessions, and the run report of each, which ReFrame documents.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history.fields import Converted
from fabricheck.history.frame import READ, empty
from fabricheck.history.problems import Kind, Problem
from fabricheck.history.reframe_case import rows_of_case

_VERSION: Final = "1.0"
_WAIT: Final = 10.0
_DIGITS: Final = 20
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError)


class ResultsDatabase:
    """An open results database."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self._path = path

    def sessions(self) -> frozenset[str]:
        """Identities of all sessions."""
        found = [uuid for (uuid,) in self._db.execute("SELECT uuid FROM sessions")]
        if not all(isinstance(uuid, str) and uuid.isprintable() for uuid in found):
            raise sqlite3.DatabaseError("a session without identity")
        return frozenset(found)

    def infos(self) -> dict[str, dict[str, Any]]:
        """What ReFrame keeps of each session as a whole, with its ``--session-extras``."""
        query = (
            "SELECT uuid, json_extract(json_blob, '$.session_info') FROM sessions "
            "WHERE json_valid(json_blob)"
        )
        return {uuid: json.loads(info) for uuid, info in self._db.execute(query) if info}

    def read(self, uuid: str) -> Converted:
        """The values of a session, and what is wrong with it.

        A problem names the session, and as its lines the cases, from 1; all of it is line 0.
        """
        query = "SELECT json_blob FROM sessions WHERE uuid = ?"
        (text,) = self._db.execute(query, [uuid]).fetchone()
        try:
            report = json.loads(text, parse_int=_integer)
            cases = [case for run in report["runs"] for case in run["testcases"]]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            detail = f"expected a run report, found {_in_words(error)}"
            return empty(), [Problem(Kind.DAMAGED, 0, 0, detail, session=uuid)]
        rows: list[dict[str, Any]] = []
        problems = []
        for number, case in enumerate(cases, start=1):
            try:
                rows += rows_of_case(case, uuid)
            except (*_ODD, FabricheckError) as error:
                problems.append(
                    Problem(Kind.DAMAGED, number, number, _in_words(error), session=uuid)
                )
        return pl.DataFrame(rows, schema=READ, orient="row", infer_schema_length=None), problems


def _integer(digits: str) -> float:
    # Python refuses thousands of digits; as a float they cost their field alone.
    return int(digits) if len(digits) < _DIGITS else float(digits)


def _in_words(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"expected the key {error}, found none"
    if isinstance(error, TypeError | AttributeError):
        return f"expected a run report's fields, found others: {error}"
    return str(error)


@contextmanager
def opened(path: Path) -> Iterator[ResultsDatabase]:
    """Open a results database for reading only.

    Raises:
        FabricheckError: if it is no results database, is of another version, locked or damaged.
    """
    place = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=_WAIT)) as connection:
            # What is no text is found where it stands.
            connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            _check_version(connection, path)
            yield ResultsDatabase(connection, path)
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise FabricheckError(
                f"expected to read ReFrame's results database {path}, found it locked by another "
                f"process for {_WAIT:g} s: wait for its end and try again; nothing was changed"
            ) from error
        raise _not_a_database(path, error) from error
    except sqlite3.DatabaseError as error:
        raise _not_a_database(path, error) from error


def _not_a_database(path: Path, error: sqlite3.Error) -> FabricheckError:
    return FabricheckError(
        f"expected ReFrame's results database in {path}, found: {error}: name another file with "
        "--results, or give read permission; nothing was changed"
    )


def _check_version(db: sqlite3.Connection, path: Path) -> None:
    found = [version for (version,) in db.execute("SELECT schema_version FROM metadata")]
    if found != [_VERSION]:
        named = ", ".join(map(str, found)) or "none"
        raise FabricheckError(
            f"expected version {_VERSION} of ReFrame's results database in {path}, found {named}: "
            "it was written by another version of ReFrame; read it with the fabricheck that came "
            "with it, or leave it out with --no-results; nothing was changed"
        )
