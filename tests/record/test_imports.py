"""Other formats become files of the record: those of ReFrame's versions."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.history.recorded import NOW, problems, read, status, table
from tests.refusals import refused

from fabricheck.acceptance.sides import read_sides
from fabricheck.errors import FabricheckError
from fabricheck.history.sessions import BY_TIME
from fabricheck.history.store import History
from fabricheck.record import imports
from fabricheck.record.imports import Imported, import_all
from fabricheck.record.reframe_report import title
from fabricheck.report.load import load
from fabricheck.report.status import Status

DATA = Path(__file__).parents[1] / "data" / "reframe"
LATER = NOW.replace(year=2027)

EXPECTED = {
    (f"Stream %threads={threads}", *variable)
    for threads in (1, 8)
    for variable in (
        ("bandwidth", 12.5, "GB/s", 12.0, 12 * (1 - 0.1), None),
        ("latency", 3.25, "us", 3.0, None, 3 * (1 + 0.2)),
        ("residual", 0.5, "1", 0.5, 0.5 * (1 - 0.1), 0.5 * (1 + 0.1)),
    )
}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


def taken(record: Path, store: Path, *sources: Path) -> Imported:
    """Import sources and refresh a history."""
    done = import_all(sources, record)
    read(store, record, now=LATER)
    return done


def measured(frame: pl.DataFrame) -> set[tuple[object, ...]]:
    names = ("benchmark", "metric", "value", "unit", "reference", "lower", "upper")
    return set(frame.select(names).rows())


@pytest.mark.parametrize("kind", ["3.12", "4.2", "4.2-site", "4.7", "4.10", "4.10-site"])
def test_perflogs_of_every_version_are_read(kind: str, record: Path, store: Path) -> None:
    done = taken(record, store, DATA / kind)
    assert (done.values, done.problems) == (12, [])
    found = table(store)
    assert measured(found) == EXPECTED
    places = found.select("system", "partition", "environ", "check").unique().rows()
    assert places == [("generic", "default", "builtin", "Stream")]
    assert found["job"].str.contains(r"^\d{5}$").all()


CHANGED = {
    "num_tasks in a log without header": ("3.12", r"(\|jobid=\d+)", r"\1|num_tasks=1"),
    "the time of writing": ("4.10-site", "job_completion_time", "asctime"),
    "a field twice": ("4.7", r"(?m)^([^|\n]+)", r"\1|\1"),
    "another place of the time": ("4.10-site", r"(?m)^([^|]*)\|([^|]*)", r"\2|\1"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_sites_own_format_is_read(change: str, tmp_path: Path, record: Path, store: Path) -> None:
    kind, before, after = CHANGED[change]
    shutil.copytree(DATA / kind, tmp_path / "logs")
    for path in (tmp_path / "logs").rglob("*.log"):
        path.write_text(re.sub(before, after, path.read_text()))
    assert taken(record, store, tmp_path / "logs").values == 12
    assert measured(table(store)) == EXPECTED


JOB = "2026-01-02T03:04:05+00:00|reframe 3.2|Net_2 on their:ib using omb|jobid=7|"
TAGGED = f"{JOB}rate=5.5|MB/s|ref=6 (l=-0.1, u=None)|bw,nodes=2\n"


def test_lines_of_excalibur_are_known(tmp_path: Path, record: Path, store: Path) -> None:
    path = tmp_path / "Net_2.log"
    path.write_text(
        TAGGED + TAGGED.replace("rate=5.5", "lost=0").replace("bw,nodes=2", "nodes=2,bw")
    )
    done = taken(record, store, path)
    assert (done.cases, done.values, done.problems) == (1, 2, [])
    found = table(store).select("system", "partition", "environ", "benchmark", "metric", "value")
    assert set(found.rows()) == {
        ("their", "ib", "omb", "Net_2", "rate", 5.5),
        ("their", "ib", "omb", "Net_2", "lost", 0.0),
    }


HEADED = (
    "job_completion_time|info|jobid|latency_var|latency_value|latency_lower_thres|latency_unit\n"
)


def test_a_line_names_its_variable_below_the_header_of_another(
    tmp_path: Path, record: Path, store: Path
) -> None:
    """As the EESSI test suite has them: ReFrame 4.10 writes one header for all variants."""
    lines = "".join(
        f"2026-01-02T03:04:0{number}+00:00|T %of={name} @s:p+e|{number}|{name}|2.5|None|{unit}\n"
        for number, (name, unit) in enumerate([("latency", "us"), ("bandwidth", "MB/s")])
    )
    path = tmp_path / "T.log"
    path.write_text(HEADED + lines)
    assert taken(record, store, path).problems == []
    found = table(store).select("benchmark", "metric", "unit").rows()
    assert set(found) == {
        ("T %of=latency", "latency", "us"),
        ("T %of=bandwidth", "bandwidth", "MB/s"),
    }


def test_a_day_of_what_was_imported_is_a_session(tmp_path: Path, record: Path) -> None:
    path = tmp_path / "Net_2.log"
    path.write_text(TAGGED + TAGGED.replace("2026-01-02", "2026-01-03"))
    import_all([path], record)
    run = load(record, "imported-2026-01-03")
    assert ([each.time[:10] for each in run.cases], run.defects) == (["2026-01-03"], ())
    (case,) = run.cases
    assert case.status is Status.UNJUDGED
    assert case.causes == ("another suite's log, which has no results: it was not judged",)
    with refused("FC0617", "'imported-2026-01-04'"):
        load(record, "imported-2026-01-04")


def test_runs_that_only_their_time_tells_can_be_accepted(
    tmp_path: Path, record: Path, store: Path
) -> None:
    path = tmp_path / "Net_2.log"
    path.write_text("".join(TAGGED.replace("-02T", f"-{day:02}T") for day in range(2, 10)))
    taken(record, store, path)
    with History.open_to_read(store) as history:
        found = read_sides(history, ["20260101:20260105"], ["20260105:20260201"])
    assert found.group_by("side").agg(pl.col("session").n_unique()).sort("side").rows() == [
        ("after", 5),
        ("before", 3),
    ]
    assert found["session"].str.contains(BY_TIME).all()


def test_two_lines_in_one_are_refused_by_name(tmp_path: Path, record: Path) -> None:
    path = tmp_path / "Net_2.log"
    path.write_text(TAGGED + TAGGED.rstrip("\n") + TAGGED)
    done = import_all([path], record)
    assert (done.values, [each.line for each in done.problems]) == (1, [2])


OWN = "%(asctime)s;%(check_name)s;%(check_perf_var)s: %(check_perf_value)s, %(check_perf_unit)s"


def test_a_format_of_a_site_is_taken_from_its_configuration(
    tmp_path: Path, record: Path, store: Path
) -> None:
    path = tmp_path / "their" / "ib" / "net.log"
    path.parent.mkdir(parents=True)
    line = "2026-01-02T03:04:05+00:00;Net;{}, MB/s\n"
    path.write_text(line.format("rate: 5.5") + line.format("lost: null") + line[:30] + "no\n")
    assert [each.kind for each in import_all([path], record).problems] == ["unread"]
    done = import_all([path], record, [OWN])
    assert (done.values, done.unmeasured) == (1, 1)
    assert "fits until '%(asctime)s;%(check_name)s;'" in done.problems[-1].detail
    read(store, record, now=LATER)
    assert set(table(store)["value"].to_list()) == {5.5, None}


@pytest.mark.parametrize(
    "given", ["%(check_name)s", f"{OWN}|%(check_name)s", "%(asctime)s|%(check_perfvalues)s"]
)
def test_a_format_that_says_too_little_is_refused(given: str, record: Path) -> None:
    with refused("FC3601", "copy 'format' of handlers_perflog"):
        import_all([DATA / "3.12"], record, [given])


FIRST = "bandwidth=12.5|ref=12 (l=-0.1, u=null)|GB/s"
DAMAGE = {
    "prose": "killed",
    "a value that is a word": "bandwidth=fast|ref=12 (l=-0.1, u=null)|GB/s",
    "a threshold that is a word": "bandwidth=12.5|ref=12 (l=low, u=null)|GB/s",
    "no value": "bandwidth|ref=12 (l=-0.1, u=null)|GB/s",
    "a field too many": "bandwidth=12.5|ref=12 (l=-0.1, u=null)|GB/s|",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_line_costs_only_itself(damage: str, tmp_path: Path, record: Path) -> None:
    shutil.copytree(DATA / "4.10-site", tmp_path / "logs")
    path = tmp_path / "logs" / "generic" / "default" / "Stream.log"
    path.write_text(path.read_text().replace(FIRST, DAMAGE[damage], 1))
    done = import_all([tmp_path / "logs"], record)
    assert done.values == 11
    assert [(each.kind, each.path, each.line) for each in done.problems] == [("damaged", path, 2)]


TIMES = ["inf", "nan", "1e15", "1767322800000", "-1e300", "9" * 400]


@pytest.mark.parametrize("time", TIMES)
def test_a_time_that_cannot_be_costs_its_line(time: str, tmp_path: Path, record: Path) -> None:
    shutil.copytree(DATA / "4.10", tmp_path / "logs")
    path = tmp_path / "logs" / "generic" / "default" / "Stream.log"
    path.write_text(path.read_text().replace("1795326311.5998814", time))
    done = import_all([tmp_path / "logs"], record)
    assert done.values == 9
    assert [each.line for each in done.problems] == [2]


NO_PERFLOG = {
    "other columns": b"result|other\npass|1\n",
    "prose": b"no perflog at all\n",
    "a column twice": b"a|a\n",
    "a long line": b"0" * 200_000 + b"\n",
    "binary": b"\x7fELF\x00\xff|\x00\n\x01\n",
    "a variable without name": b"_value|_unit\n1|us\n",
}


@pytest.mark.parametrize("content", NO_PERFLOG)
def test_a_file_that_is_no_perflog_is_named(content: str, tmp_path: Path, record: Path) -> None:
    shutil.copytree(DATA / "4.10", tmp_path / "logs")
    (tmp_path / "logs" / "Wrong.log").write_bytes(NO_PERFLOG[content])
    done = import_all([tmp_path / "logs"], record)
    assert done.values == 12
    (problem,) = done.problems
    assert (problem.kind, problem.path.name) == ("unread", "Wrong.log")


def test_a_source_that_grew_is_written_again(tmp_path: Path, record: Path, store: Path) -> None:
    whole = (DATA / "4.10" / "generic" / "default" / "Stream.log").read_text()
    path = tmp_path / "old.log"
    path.write_text("".join(whole.splitlines(keepends=True)[:2]))
    assert taken(record, store, path).values == 3
    path.write_text(whole)
    taken(record, store, path)
    assert (table(store).height, problems(store)) == (12, [])
    assert len(list(record.rglob("*.jsonl"))) == 1


def database_of(path: Path, sessions: dict[str, Any]) -> Path:
    """A results database."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE sessions (uuid TEXT PRIMARY KEY, json_blob TEXT)")
        db.execute("CREATE TABLE metadata (schema_version TEXT)")
        db.execute("INSERT INTO metadata VALUES ('1.0')")
        rows = [(uuid, json.dumps(report)) for uuid, report in sessions.items()]
        db.executemany("INSERT INTO sessions VALUES (?, ?)", rows)
    return path


def recorded_database(path: Path, version: str) -> Path:
    """The results database of two sessions, as a version of ReFrame stored them."""
    reports = json.loads((DATA / f"sessions-{version}.json").read_text())
    return database_of(path, {each["session_info"]["uuid"]: each for each in reports})


@pytest.mark.parametrize("version", ["4.7", "4.8"])
def test_databases_of_older_versions_are_read(
    tmp_path: Path, record: Path, store: Path, version: str
) -> None:
    done = taken(record, store, recorded_database(tmp_path / "old.db", version))
    assert (done.values, done.problems) == (12, [])
    assert status(store).sessions == 2
    assert table(store)["result"].unique().to_list() == ["pass"]


@pytest.mark.parametrize("version", ["4.7", "4.10-site"])
def test_a_value_in_perflog_and_database_counts_once(
    tmp_path: Path, record: Path, store: Path, version: str
) -> None:
    database = recorded_database(tmp_path / "results.db", version)
    taken(record, store, DATA / version, database)
    found = table(store)
    assert (found.height, status(store).series) == (12, 6)
    assert found["session"].str.contains("^[0-9a-f-]{36}$").all()
    assert found["node_list"].unique().to_list() == ["vm"]


def test_a_line_without_job_is_the_value_of_the_database(
    tmp_path: Path, record: Path, store: Path
) -> None:
    text = (DATA / "4.10-site" / "generic" / "default" / "Stream.log").read_text()
    path = tmp_path / "logs" / "generic" / "default" / "Stream.log"
    path.parent.mkdir(parents=True)
    path.write_text(re.sub(r"jobid=\w+\|", "", text))
    taken(record, store, path, recorded_database(tmp_path / "results.db", "4.10-site"))
    assert table(store).height == 12


SPOILED = {
    "UPDATE metadata SET schema_version = '9.0'": r"expected version 1.0.*found 9.0",
    "DELETE FROM metadata": r"expected version 1.0.*found none",
    "DROP TABLE sessions": r"expected ReFrame's results database in .*old.db",
}


@pytest.mark.parametrize("statement", SPOILED)
def test_a_spoiled_database_is_refused(tmp_path: Path, record: Path, statement: str) -> None:
    path = recorded_database(tmp_path / "old.db", "4.8")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)
    with pytest.raises(FabricheckError, match=SPOILED[statement]):
        import_all([path], record)
    assert not record.exists()


@pytest.mark.parametrize("blob", ["'{\"runs\": '", "'{\"runs\": [{}]}'", "'[]'", "NULL", "7"])
def test_a_session_that_is_no_report_costs_only_itself(
    tmp_path: Path, record: Path, blob: str
) -> None:
    path = recorded_database(tmp_path / "old.db", "4.8")
    with closing(sqlite3.connect(path)) as db, db:
        one = "WHERE rowid = (SELECT min(rowid) FROM sessions)"
        db.execute(f"UPDATE sessions SET json_blob = {blob} {one}")
    done = import_all([path], record)
    assert done.values == 6
    (problem,) = done.problems
    assert re.search(r"session '[0-9a-f-]+'", problem.detail)


def test_a_database_is_not_changed_by_reading(tmp_path: Path, record: Path) -> None:
    path = recorded_database(tmp_path / "old.db", "4.8")
    before = path.read_bytes()
    path.chmod(0o444)
    import_all([path], record)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["old.db", "record"]


@pytest.mark.integration
def test_a_locked_database_is_named(
    tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorded_database(tmp_path / "old.db", "4.8")
    monkeypatch.setattr(imports, "_WAIT", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(FabricheckError, match=r"old.db, found it locked by another"):
            import_all([path], record)


@pytest.mark.parametrize(
    ("name", "found"), [("absent.log", "no such file"), ("empty", "found none")]
)
def test_a_source_that_is_not_there_is_bad_input(
    tmp_path: Path, record: Path, name: str, found: str
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FabricheckError, match=found):
        import_all([tmp_path / name], record)


@pytest.mark.parametrize(
    "name",
    [
        "Stream %threads=8",
        "Stream %threads=8 %.repeat_no=3",
        "Stream %threads=8 /322804eb @generic:default+builtin",
        "Stream %threads=8 on generic:default using builtin",
    ],
)
def test_a_test_has_one_name_in_all_records(name: str) -> None:
    assert title(name) == "Stream %threads=8"
