import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import run as run_command
from tests.history.recorded import case, record
from tests.refusals import refused
from typer.testing import Result

from fabricheck.errors import FabricheckError

DATA = Path(__file__).parents[1] / "data" / "reframe"


def run(*arguments: str | Path) -> Result:
    return run_command("history", *arguments)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with record(tmp_path / "logs", *map(case, range(3))).open("a") as file:
        file.write("half a line\n")
    store = tmp_path / "store"
    assert run("refresh", "--perflogs", tmp_path / "logs", "--store", store).exit_code == 0
    return store


def test_a_refresh_says_what_it_read(tmp_path: Path, store: Path):
    first = run("refresh", "--perflogs", tmp_path / "logs", "--store", tmp_path / "other")
    assert first.stdout.startswith("12 new values of 3 cases from 1 files in ")
    assert "1 lines with a problem: see fabricheck history status" in first.stdout
    again = json.loads(run("refresh", "--store", store, "--json").stdout)
    assert (again["values"], again["unchanged"], again["changed"]) == (0, 1, [])


def test_status_names_problems_by_file_and_line(store: Path):
    text = run("status", "--store", store).stdout
    assert "12 values of 4 series, 2026-11-01T06:00:00 to 2026-11-03T06:00:00" in text
    assert "problems: 1 damaged" in text
    assert "damaged: " in text
    assert "2026-11.jsonl, line 4: expected a line as it was written" in text
    data = json.loads(run("status", "--store", store, "--json").stdout)
    assert data["problem_lines"]["damaged"] == 1
    assert data["problems"][0]["line"] == 4


def test_a_series_is_shown_as_a_line(store: Path):
    text = run("show", "size=8", "--store", store).stdout
    row = text.splitlines()[1]
    name = "testbed:main+openmpi MpiPointToPoint latency tcp-2n mpi_probe latency_p50_8B"
    assert row.split("  ")[0] == name
    assert row.split()[-6:] == ["3", "9.58", "9.58", "us", "2026-11-03", "▄▄▄"]
    (series,) = json.loads(run("show", "size=8", "--store", store, "--json").stdout)["series"]
    assert series["key"]["size"] == 8
    assert series["direction"] == "lower"
    assert series["times"][0] == "2026-11-01T06:00:00Z"
    assert series["values"] == [9.58] * 3


def test_many_series_are_limited(store: Path):
    text = run("show", "--limit", "1", "--store", store).stdout
    assert "and 3 more: select fewer, or give --limit" in text


def test_values_are_exported(store: Path, tmp_path: Path):
    rows = run("export", "size=8", "--since", "2026-11-02", "--store", store).stdout.splitlines()
    assert rows[0].startswith("system,partition,environ,check,benchmark,transport,num_nodes,")
    assert len(rows) == 3
    file = tmp_path / "history.parquet"
    told = run("export", "--format", "parquet", "--output", file, "--json", "--store", store)
    assert json.loads(told.stdout) == {
        "format": 1,
        "path": str(file),
        "written_as": "parquet",
        "values": 12,
    }
    assert pl.read_parquet(file).height == 12


def test_values_that_nobody_measured_are_told_apart_from_none(tmp_path: Path):
    record(tmp_path / "logs", case(value=None, sizes=[8], level="untrusted"))
    run("refresh", "--perflogs", tmp_path / "logs", "--store", tmp_path / "store")
    with refused("FC2515", "found 1 without a measurement"):
        run("show", "--store", tmp_path / "store")


@pytest.mark.parametrize("name", ["index.json", None])
def test_an_export_never_replaces_the_history_itself(store: Path, name: str | None):
    output = store / name if name else next(store.glob("*.parquet"))
    with refused("FC2513"):
        run("export", "--output", output, "--store", store)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "size=9"], "expected values with size=9 in the history .* found none"),
        (["show", "size=²"], "expected a message size such as 8B or 1MiB, found '²'"),
        (["show", "nodes=²"], "expected a number of nodes, found '²'"),
        (["show", "--since", "soon"], "expected a date such as 2026-11-21"),
        (["show", "--since", "0001-01-01T00:00:00+14:00"], "expected a date such as"),
        (["show", "--until", "9999-12-31T23:59:59-14:00"], "expected a date such as"),
        (["export", "--format", "parquet"], "expected --output FILE"),
        (["export", "--output", "/nowhere/at/all"], "cannot write /nowhere/at/all"),
    ],
)
def test_bad_input_is_refused(store: Path, arguments: list[str], message: str):
    with pytest.raises(FabricheckError, match=message):
        run(*arguments, "--store", store)


def test_the_places_of_the_suite_are_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fabricheck.cli.history.DEFAULT_PERFLOGS", tmp_path / "perflogs")
    record(tmp_path / "perflogs", *map(case, range(2)))
    assert "8 new values" in run("refresh", "--store", tmp_path / "store").stdout


@pytest.mark.parametrize("damage", [False, True])
def test_other_formats_are_imported(tmp_path: Path, damage: bool):
    logs = tmp_path / "old"
    shutil.copytree(DATA / "4.10-site", logs)
    if damage:
        with next(logs.rglob("Stream.log")).open("a") as file:
            file.write("half\n")
    done = run("import", logs, "--perflogs", tmp_path / "record", "--json")
    assert done.exit_code == damage
    told = json.loads(done.stdout)
    assert (told["values"], len(told["problems"])) == (12, damage)
    run("refresh", "--perflogs", tmp_path / "record", "--store", tmp_path / "store")
    assert "12 values of 6 series" in run("status", "--store", tmp_path / "store").stdout


def test_perflogs_without_any_value_name_what_their_configuration_lacks(tmp_path: Path):
    head = "job_completion_time|info|perf_var=perf_value|ref=perf_ref|perf_unit"
    line = "2026-01-02T03:04:05+00:00|T /1583f36f @s:p+e|null=null|ref=null|null"
    (tmp_path / "T.log").write_text(f"{head}\n{line}\n")
    done = run("import", tmp_path / "T.log", "--perflogs", tmp_path / "record")
    assert "0 values of 1 cases" in done.stdout
    assert "ReFrame needs perflog_multiline: True" in done.stdout
