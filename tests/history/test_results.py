"""ReFrame's own records: its results database, and perflogs in its default formats."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.history import recorded
from tests.history.recorded import NOW, problems, status, table

from fabricheck.errors import FabricheckError
from fabricheck.history.refresh import Outcome
from fabricheck.history.store import History

pytestmark = pytest.mark.integration

DATA = Path(__file__).parents[1] / "data" / "reframe"


def read(store: Path, *roots: Path, **options: Any) -> Outcome:
    """Refresh a history with what was recorded just now."""
    return recorded.read(store, *roots, **{"now": datetime.now(UTC), **options})


CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Stream(rfm.RunOnlyRegressionTest):
    threads = parameter([1, 8])
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["bw: 12.5 lat: 3.25"]
    reference = {"*": {"bandwidth": (12, -0.1, 0.1, "GB/s")}}

    @sanity_function
    def ran(self):
        return sn.assert_found("bw", self.stdout)

    @performance_function("GB/s")
    def bandwidth(self):
        return sn.extractsingle(r"bw: (\\S+)", self.stdout, 1, float)

    @performance_function("us")
    def latency(self):
        return sn.extractsingle(r"lat: (\\S+)", self.stdout, 1, float)
"""

SETTINGS = """
import copy
from reframe.core.settings import site_configuration as builtin

site_configuration = copy.deepcopy(builtin)
logging = site_configuration["logging"][0]
logging["perflog_multiline"] = {multiline}
handler = logging["handlers_perflog"][0]
if {multiline}:
    handler["format"] = (
        "%(check_result)s|%(check_job_completion_time)s|%(check_info)s|%(check_system)s|"
        "%(check_partition)s|%(check_environ)s|%(check_jobid)s|%(check_perf_var)s|"
        "%(check_perf_value)s|%(check_perf_unit)s|%(check_perf_ref)s|"
        "%(check_perf_lower_thres)s|%(check_perf_upper_thres)s"
    )
site_configuration["storage"] = [
    {{"enable": True, "backend": "sqlite", "sqlite_db_file": "{directory}/results.db"}}
]
"""


def run_reframe(directory: Path, *options: str, multiline: bool = False) -> None:
    """Run the check with ReFrame's built-in settings, and this much more."""
    (directory / "check.py").write_text(CHECK)
    settings = directory / "settings.py"
    settings.write_text(SETTINGS.format(multiline=multiline, directory=directory))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RFM_")}
    ended = subprocess.run(
        [Path(sys.executable).with_name("reframe"), "-C", f":{settings}", "-c", "check.py", "-r",
         "--report-file", str(directory / "report.json"), *options],
        cwd=directory,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another suite that has run twice, once with each test repeated."""
    directory = tmp_path_factory.mktemp("suite")
    run_reframe(directory)
    run_reframe(directory, "--repeat=2")
    return directory


EXPECTED = {
    ("Stream %threads=1", "bandwidth", 12.5, "GB/s", 12.0, 12 - 0.1 * 12, 12 + 0.1 * 12),
    ("Stream %threads=8", "bandwidth", 12.5, "GB/s", 12.0, 12 - 0.1 * 12, 12 + 0.1 * 12),
    ("Stream %threads=1", "latency", 3.25, "us", None, None, None),
    ("Stream %threads=8", "latency", 3.25, "us", None, None, None),
}


def measured(store: Path) -> set[tuple[object, ...]]:
    frame = table(store)
    assert set(frame["check"]) == {"Stream"}
    assert set(frame["system"]) == {"generic"}
    assert set(frame["partition"]) == {"default"}
    assert set(frame["environ"]) == {"builtin"}
    names = ("benchmark", "metric", "value", "unit", "reference", "lower", "upper")
    return set(frame.select(names).rows())


def test_reframes_default_perflog_is_read(suite: Path, tmp_path: Path):
    assert read(tmp_path, suite / "perflogs").values == 12
    assert measured(tmp_path) == EXPECTED
    assert table(tmp_path)["num_nodes"].unique().to_list() == [1]
    assert problems(tmp_path) == []


def test_reframes_perflog_of_many_lines_is_read(tmp_path: Path):
    run_reframe(tmp_path, multiline=True)
    assert read(tmp_path / "store", tmp_path / "perflogs").values == 4
    assert measured(tmp_path / "store") == EXPECTED


def test_a_results_database_gives_the_same(suite: Path, tmp_path: Path):
    outcome = read(tmp_path, results=[suite / "results.db"])
    assert (outcome.values, outcome.sessions) == (12, 2)
    assert measured(tmp_path) == EXPECTED
    assert status(tmp_path).sessions == 2
    assert read(tmp_path).sessions == 0


def test_a_session_in_both_records_counts_once(suite: Path, tmp_path: Path):
    both = {"results": [suite / "results.db"]}
    assert read(tmp_path / "both", suite / "perflogs", **both).values == 12
    assert problems(tmp_path / "both") == []
    # The perflog says more, so it is the one that is kept, in whatever order they are read.
    read(tmp_path / "later", **both)
    assert "only the results database" in read(tmp_path / "later", suite / "perflogs").rebuilt
    assert table(tmp_path / "later").equals(table(tmp_path / "both"))


def test_a_session_of_the_future_is_read_when_its_time_has_come(suite: Path, tmp_path: Path):
    before = {"now": NOW.replace(year=2020)}
    assert read(tmp_path, results=[suite / "results.db"], **before).values == 0
    assert read(tmp_path, **before).problems == 12
    assert read(tmp_path).values == 12
    assert read(tmp_path).sessions == 0


def test_a_unit_that_differs_from_the_perflogs_is_seen(suite: Path, tmp_path: Path):
    read(tmp_path / "store", suite / "perflogs")
    database = tmp_path / "results.db"
    database.write_bytes((suite / "results.db").read_bytes())
    spoil(database, "UPDATE sessions SET json_blob = replace(json_blob, 'GB/s', 'MB/s')")
    with pytest.raises(FabricheckError, match=r"results.db, session .*expected the unit 'GB/s'"):
        read(tmp_path / "store", results=[database])


def test_a_session_that_was_deleted_leaves_the_history(suite: Path, tmp_path: Path):
    database = tmp_path / "results.db"
    database.write_bytes((suite / "results.db").read_bytes())
    read(tmp_path / "store", results=[database])
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM sessions WHERE rowid = (SELECT min(rowid) FROM sessions)")
    assert "sessions were removed" in read(tmp_path / "store").rebuilt
    assert status(tmp_path / "store").sessions == 1


@pytest.fixture
def database(suite: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy.db"
    copy.write_bytes((suite / "results.db").read_bytes())
    return copy


def spoil(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        db.execute(statement)


SPOILED = {
    "UPDATE metadata SET schema_version = '9.0'": r"expected version 1.0.*found 9.0",
    "DELETE FROM metadata": r"expected version 1.0.*found none",
    "DROP TABLE sessions": r"expected ReFrame's results database in .*copy.db",
    "UPDATE sessions SET uuid = NULL": r"expected ReFrame's results.*session without identity",
}


@pytest.mark.parametrize("statement", SPOILED)
def test_a_spoiled_database_is_refused(database: Path, tmp_path: Path, statement: str):
    spoil(database, statement)
    with pytest.raises(FabricheckError, match=SPOILED[statement]):
        read(tmp_path / "store", results=[database])
    assert status(tmp_path / "store").roots == []


@pytest.mark.parametrize(
    "blob", ["'{\"runs\": '", "'{\"runs\": [{}]}'", "'[' || '[]'", "NULL", "7"]
)
def test_a_session_that_is_no_report_costs_only_itself(database: Path, store: Path, blob: str):
    one = "WHERE rowid = (SELECT min(rowid) FROM sessions)"
    sound = database.read_bytes()
    spoil(database, f"UPDATE sessions SET json_blob = {blob} {one}")
    assert read(store, results=[database]).values == 8
    ((path, problem),) = status(store).problems
    assert (path, problem.first) == (database, 0)
    assert re.match("session [0-9a-f-]+$", problem.where)
    assert problem.detail.startswith("expected a run report, found")
    assert read(store).sessions == 0
    database.write_bytes(sound)
    assert read(store).values == 4
    assert status(store).problems == []


NAN, ENDLESS = float("nan"), float("inf")
ODD: dict[str, list[Any]] = {
    "name": [None, "", " ", [], {}, 3.5, "\ud800"],
    "system": [None, "", [], "\ud800"],
    "environ": [None, {}],
    "jobid": [[], 3.5, True, 10**4000],
    "num_tasks": [[1], 1e400],
    "job_nodelist": ["n1", [1.5], {"n1": 1}, ["\ud800"]],
    "job_completion_time_unix": ["now", NAN, ENDLESS, -ENDLESS, 1e15, 1767322800000, 0, 10**4000],
    "perfvalues": [[1], "x", {"a:b:c": 1}, {"a:b:c": [1, 2]}, {"a:b:c": [1, 0, None, None, []]}]
    + [{"a:b:c": [value, 0, None, None, "us"]} for value in (NAN, ENDLESS, "1", True, [], 10**500)]
    + [{"a:b:c": [1, value, 0, 0, "us"]} for value in (NAN, "1", {})]
    + [{f"a:b:{name}": [1, 0, None, None, "us"]} for name in ("", "\ud800")],
    "findings": [5, [5.5]],
    "result": [[]],
}
OURS: dict[str, list[Any]] = {
    "num_nodes": ["two", None, -1, 2**31, 2**70, 1.5],
    "benchmark": [None, "", []],
    "transport": [{}, 1.5],
    "levels": [[1], {"latency_p50_8B": 1.5}],
    "warning_bounds": [[1], {"latency_p50_8B": [1]}, {"latency_p50_8B": ["1", None]}],
    "perfvalues": [
        {"a:b:latency": [1, 0, None, None, "us"]},
        {"a:b:latency_p50_8B": [-5, 0, None, None, "us"]},
    ],
}


def case(**changes: Any) -> dict[str, Any]:
    """A case as ReFrame 4.7 stored it."""
    found = json.loads((DATA / "sessions-4.7.json").read_text())[0]["runs"][0]["testcases"][-1]
    return {**found, **changes}


@pytest.mark.parametrize(
    ("ours", "field"), [*((False, name) for name in ODD), *((True, name) for name in OURS)]
)
def test_a_case_with_an_odd_field_costs_only_itself(store: Path, *, ours: bool, field: str):
    own = {"benchmark": "latency", "transport": "tcp", "num_nodes": 2} if ours else {}
    if ours:
        own["perfvalues"] = {"a:b:latency_p50_8B": [1, 0, None, None, "us"]}
    odd = [{**case(**own), field: value} for value in (OURS if ours else ODD)[field]]
    database = stored(store.with_name("odd.db"), [case(**own), *odd, 7, case(**own, jobid=2)])
    assert read(store, results=[database]).values == (2 if ours else 6)
    found = [problem for _, problem in status(store).problems]
    assert [problem.first for problem in found] == list(range(2, len(odd) + 3))
    assert all("expected" in problem.detail for problem in found)


def stored(path: Path, cases: list[Any]) -> Path:
    """A results database with one session."""
    return database_of(path, {"one": {"session_info": {}, "runs": [{"testcases": cases}]}})


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
def test_sessions_of_older_versions_are_read(store: Path, version: str):
    database = recorded_database(store.with_name("old.db"), version)
    assert read(store, results=[database]).values == 12
    assert status(store).problems == []
    assert status(store).sessions == 2
    assert table(store)["result"].unique().to_list() == ["pass"]


@pytest.mark.parametrize("version", ["4.7", "4.10-site"])
@pytest.mark.parametrize("order", ["at once", "perflogs first", "database first"])
def test_a_value_in_both_records_has_what_each_of_them_says(store: Path, version: str, order: str):
    both = {"results": [recorded_database(store.with_name("results.db"), version)]}
    logs = DATA / version
    if order == "perflogs first":
        read(store, logs)
    elif order == "database first":
        read(store, **both)
    read(store, logs, **both)
    found = table(store)
    assert found.height == 12
    assert status(store).series == 6
    assert problems(store) == []
    assert len(found["session"].unique()) == 2
    assert found["session"].str.contains("^[0-9a-f-]{36}$").all()
    assert found["node_list"].unique().to_list() == ["vm"]
    assert found["result"].unique().to_list() == ["pass"]
    with History.open_to_read(store) as history:
        assert {len(series) for series in history.series()} == {2}
    read(store.with_name("anew"), logs, **both)
    assert found.equals(table(store.with_name("anew")))


def test_a_line_without_job_or_nodes_is_the_value_of_the_database(store: Path, tmp_path: Path):
    both = {"results": [recorded_database(tmp_path / "results.db", "4.10-site")]}
    text = (DATA / "4.10-site" / "generic" / "default" / "Stream.log").read_text()
    path = tmp_path / "logs" / "generic" / "default" / "Stream.log"
    path.parent.mkdir(parents=True)
    path.write_text(re.sub(r"jobid=\w+\|", "", text))
    read(store, path.parent, **both)
    assert table(store).height == 12
    later = store.with_name("later")
    read(later, **both)
    assert "only the results database had" in read(later, path.parent).rebuilt
    assert table(later).equals(table(store))


def test_what_is_no_database_is_refused(tmp_path: Path):
    (tmp_path / "text.db").write_text("no database at all, " * 100)
    for name in ("text.db", "absent.db"):
        with pytest.raises(FabricheckError, match=f"ReFrame's results database in .*{name}"):
            read(tmp_path / "store", results=[tmp_path / name])
    assert not (tmp_path / "absent.db").exists()


def test_a_locked_database_is_named(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fabricheck.history.results._WAIT", 0.1)
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(FabricheckError, match=r"copy.db, found it locked by another"):
            read(tmp_path / "store", results=[database])
    assert read(tmp_path / "store", results=[database]).sessions == 2


def test_a_database_is_not_changed_by_reading(database: Path, tmp_path: Path):
    before = database.read_bytes()
    database.chmod(0o444)
    read(tmp_path / "store", results=[database])
    assert database.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "store"]
