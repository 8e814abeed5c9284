"""ReFrame's results database: sessions that are not yet in the history.

ReFrame's own commands write to the database that they read (indices, its version) and can't tell
what is new without giving everything, so it is opened here, read-only. What is read of it is its
version, the identities of the sessions, and the run report of each, which ReFrame documents.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from fabricheck.benchmarks.curve import split_variable
from fabricheck.errors import FabricheckError
from fabricheck.history.frame import PROVENANCE, READ
from fabricheck.history.reframe_perflog import title

_VERSION: Final = "1.0"
_WAIT: Final = 10.0
_BOUNDS: Final = ("lower", "upper")


class ResultsDatabase:
    """An open results database."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self._path = path

    def sessions(self) -> frozenset[str]:
        """Identities of all sessions."""
        return frozenset(uuid for (uuid,) in self._db.execute("SELECT uuid FROM sessions"))

    def infos(self) -> dict[str, dict[str, Any]]:
        """What ReFrame keeps of each session as a whole, with its ``--session-extras``."""
        query = "SELECT uuid, json_extract(json_blob, '$.session_info') FROM sessions"
        return {uuid: json.loads(info or "{}") for uuid, info in self._db.execute(query)}

    def read(self, uuid: str) -> pl.DataFrame:
        """The values of a session.

        Raises:
            FabricheckError: if what is stored is no run report.
        """
        query = "SELECT json_blob FROM sessions WHERE uuid = ?"
        (text,) = self._db.execute(query, [uuid]).fetchone()
        try:
            rows = [row for run in json.loads(text)["runs"] for row in _rows_of_run(run, uuid)]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FabricheckError(
                f"expected a run report as session {uuid} of {self._path}, found: {error!r}: "
                f"remove it with reframe --delete-stored-sessions={uuid}; nothing was changed"
            ) from error
        return pl.DataFrame(rows, schema=READ, orient="row", infer_schema_length=None)


@contextmanager
def opened(path: Path) -> Iterator[ResultsDatabase]:
    """Open a results database for reading only.

    Raises:
        FabricheckError: if it is no results database, is of another version, locked or damaged.
    """
    place = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=_WAIT)) as connection:
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


def _rows_of_run(run: Mapping[str, Any], uuid: str) -> Iterator[dict[str, Any]]:
    for case in run["testcases"]:
        ended = case["job_completion_time_unix"]
        if isinstance(ended, int | float) and case.get("perfvalues"):
            yield from _rows_of_case(case, datetime.fromtimestamp(int(ended), UTC), uuid)


def _rows_of_case(case: Mapping[str, Any], time: datetime, uuid: str) -> Iterator[dict[str, Any]]:
    ours = "benchmark" in case and "transport" in case
    name = title(case["name"])
    check = name.split()[0]
    common = {
        "line": 0,
        "system": case["system"],
        "partition": case["partition"],
        "environ": case["environ"],
        "check": check,
        "benchmark": case["benchmark"] if ours else name,
        "placement": _placement(case) if ours else "",
        "transport": case["transport"] if ours else "",
        "num_nodes": case["num_nodes"] if ours else len(case.get("job_nodelist") or ()),
        "session": case.get("session") or uuid,
        "time": time,
        "job": _text(case.get("jobid")),
        "finding": "; ".join(case.get("findings") or ()),
        **_provenance(case),
    }
    for key, (value, reference, lower, upper, unit, result, *_) in case["perfvalues"].items():
        variable = key.rpartition(":")[2]
        metric, statistic, size = split_variable(variable) if ours else (variable, "", None)
        warning = (case.get("warning_bounds") or {}).get(variable) or (None, None)
        yield {
            **common,
            "metric": str(metric),
            "statistic": statistic,
            "size": size,
            "unit": unit or "",
            "value": value if isinstance(value, int | float) else None,
            "level": (case.get("levels") or {}).get(variable, ""),
            "result": result or "",
            **_bounds(reference, lower, upper),
            "warning_lower": warning[0],
            "warning_upper": warning[1],
        }


def _placement(case: Mapping[str, Any]) -> str:
    return f"{case['transport']}-{case['num_nodes']}n" if case["transport"] else ""


def _provenance(case: Mapping[str, Any]) -> dict[str, str]:
    found = {name: _text(case.get(name)) for name in PROVENANCE}
    nodes = case.get("node_list") or case.get("job_nodelist") or ()
    return {**found, "ranks": _text(case.get("num_tasks")), "node_list": ",".join(nodes)}


def _bounds(
    reference: float | None, lower: float | None, upper: float | None
) -> dict[str, float | None]:
    """Bounds from ReFrame's thresholds, which are fractions of the reference."""
    if not reference or (lower, upper) == (None, None):
        return dict.fromkeys(("reference", *_BOUNDS))
    span = abs(reference)
    thresholds = zip(_BOUNDS, (lower, upper), strict=True)
    return {
        "reference": reference,
        **{name: None if by is None else reference + by * span for name, by in thresholds},
    }


def _text(value: Any) -> str:
    return "" if value is None else str(value)
