"""What the history gives of a record: series, values, provenance, and each case once."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.history.recorded import NOW, case, problems, read, record, status, table

from fabricheck.errors import FabricheckError
from fabricheck.history.provenance import Circumstances, Provenance
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series, SeriesKey
from fabricheck.history.store import History
from fabricheck.record.entries import Nodes, Sample, Session, to_line
from fabricheck.record.facts import UNTOLD
from fabricheck.record.write import append

NODES = Nodes(
    time="2026-11-01T06:00:00+00:00",
    session="session-0",
    system="testbed",
    partition="main",
    environ="openmpi",
    nodes=("n1", "n2"),
    machine={"kernel": "6.1.0", "bios": UNTOLD},
    software={"compiler": "gcc 12", "mpi": "Open MPI 4"},
)


def series_of(store: Path, selection: Selection = Selection()) -> list[Series]:
    with History.open_to_read(store) as history:
        return list(history.series(selection))


def circumstances(store: Path, session: str) -> Circumstances:
    with History.open_to_read(store) as history:
        return history.provenance().of(next(history.series()).key, session)


def test_every_field_of_the_record_is_there(logs: Path, store: Path) -> None:
    sample = Sample(
        metric="latency", statistic="p50", size=8, value=9.25, unit="us", level="good",
        result="xfail", reference=10, lower=5, upper=20, warning_upper=12,
    )  # fmt: skip
    record(logs, case(findings=("a", "b"), nodes=("n1", "n2"), samples=(sample,), repeat=3))
    assert read(store, logs).values == 1
    (row,) = table(store).to_dicts()
    assert row["time"].isoformat() == "2026-11-01T06:00:00+00:00"
    expected = {
        "system": "testbed",
        "partition": "main",
        "environ": "openmpi",
        "transport": "tcp",
        "num_nodes": 2,
        "layout": "",
        "ranks": 2,
        "ranks_per_node": 1,
        "options": "",
        "metric": "latency",
        "statistic": "p50",
        "size": 8,
        "unit": "us",
        "value": 9.25,
        "level": "good",
        "result": "xfail",
        "job": "100",
        "session": "session-0",
        "repeat": 3,
        "reference": 10,
        "lower": 5,
        "upper": 20,
        "warning_lower": None,
        "warning_upper": 12,
        "finding": "a; b",
        "node_list": "n1,n2",
        "mpi": "openmpi",
        "reference_kind": "",
    }
    assert {name: row[name] for name in expected} == expected


def test_a_series_has_one_value_for_each_session(logs: Path, store: Path) -> None:
    again = [case(0, value, [0], job=str(job)) for job, value in enumerate((3, 9, 4))]
    record(logs, *again, case(2, 7, [0]), case(1, 5, [0]))
    read(store, logs)
    (series,) = series_of(store)
    assert series.values.tolist() == [4, 5, 7]
    assert series.sessions.tolist() == ["session-0", "session-1", "session-2"]
    assert series.times.dtype == np.dtype("datetime64[s]")
    assert str(series.times[0]) == "2026-11-01T06:00:00"


def test_what_was_not_measured_is_in_no_series(logs: Path, store: Path) -> None:
    record(logs, case(value=None, sizes=[8], level="untrusted"))
    assert read(store, logs).values == 1
    assert series_of(store) == []


def test_a_build_is_no_case_of_the_history(logs: Path, store: Path) -> None:
    record(logs, case(), case(1, fixture=True, benchmark="", samples=()))
    read(store, logs)
    assert status(store).sessions == 1


def test_series_are_selected_by_their_fields(logs: Path, store: Path) -> None:
    record(logs, *map(case, range(3)))
    read(store, logs)
    found = series_of(store, Selection.read(["size=1,8B", "nodes=2"]))
    later = series_of(store, Selection.read(["size=8"], since=NOW.replace(day=3, hour=0)))
    assert [series.key.size for series in found] == [1, 8]
    assert [len(series) for series in later] == [1]
    assert series_of(store, Selection.read(["transport=rc"])) == []


@pytest.mark.parametrize(
    ("term", "message"),
    [("latency", "expected FIELD=VALUE"), ("colour=red", "FIELD=VALUE"), ("size=big", "size"),
     ("nodes=two", "number of nodes"), ("nodes=²", "number of nodes"), ("size=²", "size")],
)  # fmt: skip
def test_a_wrong_selection_is_refused(term: str, message: str) -> None:
    with pytest.raises(FabricheckError, match=message):
        Selection.read([term])


@pytest.mark.parametrize(
    "other",
    [{"layout": "full", "ranks": 256}, {"ranks": 256}, {"program": "osu"}, {"options": "-W 64"},
     {"binding": "cyclic"}, {"ranks_per_node": 2}, {"num_nodes": 4}, {"transport": "rc"}],
    ids=str,
)  # fmt: skip
def test_what_was_measured_otherwise_is_a_series_of_its_own(
    logs: Path, store: Path, other: dict[str, Any]
) -> None:
    record(logs, case(0, 5.0, [0]), case(0, 50.0, [0], job="2", **other))
    read(store, logs)
    found = series_of(store)
    assert sorted(each.values.tolist() for each in found) == [[5.0], [50.0]]


def test_a_case_in_two_files_counts_once_and_is_named(logs: Path, store: Path) -> None:
    record(logs, case(0), case(1))
    record(logs / "copy", case(0))
    read(store, logs)
    assert table(store).height == 8
    assert problems(store) == [("duplicate", "2026-11.jsonl", 1)]


def test_what_the_suite_wrote_itself_goes_before_what_was_imported(logs: Path, store: Path) -> None:
    record(logs, case(0, system="zeta", binding="cyclic"))
    (logs / "imported").mkdir()
    imported = to_line(case(0, system="zeta"))
    (logs / "imported" / "imported-run.json-0123.jsonl").write_text(imported)
    read(store, logs)
    assert table(store)["binding"].unique().to_list() == ["cyclic"]
    assert problems(store) == [("duplicate", "imported-run.json-0123.jsonl", 1)]


@pytest.mark.parametrize("lacking", [{"job": ""}, {"num_nodes": 0}], ids=str)
def test_a_line_that_says_less_is_the_case_that_says_more(
    logs: Path, store: Path, lacking: dict[str, Any]
) -> None:
    foreign = {"program": "", "transport": "", "ranks": 0}
    record(logs, case(0, **foreign, nodes=("n1",)))
    record(logs / "copy", case(0, **{**foreign, "session": "", **lacking}))
    read(store, logs)
    assert table(store)["node_list"].unique().to_list() == ["n1"]
    assert table(store).height == 4


BEGIN = datetime(2026, 9, 1, tzinfo=UTC)
SESSIONS = {
    "other cases": ([(0, "A", 1), (1, "B", 2), (3.9, "C", 3)], [[0], [0], [0]]),
    "a pause": ([(0, "A", 1), (3.1, "B", 2)], [[0], [3.1]]),
    "another job": ([(0, "A", 1), (1, "B", 2), (2, "A", 3), (3, "B", 4)], [[0, 2], [0, 2]]),
    "the same job": ([(0, "A", 1), (1, "A", 1)], [[0]]),
    "no jobs": ([(0, "A", ""), (1, "A", "")], [[0, 1]]),
    "a repetition": ([(0, "A", 1, 0), (1, "A", 2, 1)], [[0]]),
    "a retry": ([(0, "A", 1), (1, "B", 2), (2, "B", 3), (3, "C", 4)], [[0], [0, 2], [2]]),
}


def nameless(hour: float, benchmark: str, job: int | str, repeat: int | None = None) -> Any:
    time = (BEGIN + timedelta(hours=hour)).isoformat(timespec="seconds")
    given = {"time": time, "benchmark": benchmark, "job": str(job), "repeat": repeat}
    return case(0, 12.5, [0], session="", **given)


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_without_name_is_told_by_time_and_job(logs: Path, store: Path, kind: str) -> None:
    cases, expected = SESSIONS[kind]
    record(logs, *(nameless(*each) for each in cases))
    read(store, logs)
    begun = [f"{BEGIN + timedelta(hours=hour):%FT%TZ}" for hours in expected for hour in hours]
    assert [name for series in series_of(store) for name in series.sessions] == begun


def test_sessions_are_the_same_in_every_selection(logs: Path, store: Path) -> None:
    record(logs, *(nameless(hour / 2, "AB"[hour % 2], hour + 1) for hour in range(48)))
    read(store, logs)
    whole = series_of(store)[1].sessions.tolist()
    late = Selection.read(["benchmark=B"], since=BEGIN + timedelta(hours=6.4))
    (part,) = series_of(store, late)
    assert part.sessions.tolist() == whole[6:]


@pytest.mark.parametrize(
    ("bounds", "direction"),
    [((1, None), "higher"), ((None, 1), "lower"), ((1, 2), None), ((None, None), None)],
)
def test_thresholds_tell_what_is_better_of_another_suite(
    logs: Path, store: Path, bounds: tuple[float | None, float | None], direction: str | None
) -> None:
    sample = Sample(metric="triad", value=1.5, lower=bounds[0], upper=bounds[1])
    record(logs, case(samples=(sample,)))
    read(store, logs)
    assert [series.direction for series in series_of(store)] == [direction]


def test_nodes_are_known_for_the_series_of_their_session(logs: Path, store: Path) -> None:
    others = [dataclasses.replace(NODES, nodes=("n9",)), dataclasses.replace(NODES, environ="x")]
    append(logs, [NODES, *others, case(nodes=("n1.site", "n2"), ucx_version="1.13")])
    read(store, logs)
    found = circumstances(store, "session-0")
    assert found.nodes == {"n1", "n2"}
    assert found.machines == {"n1": {"kernel": "6.1.0"}, "n2": {"kernel": "6.1.0"}}
    expected = {"compiler": "gcc 12", "mpi": "Open MPI 4", "ucx": "1.13", "program": "mpi_probe"}
    assert found.software == expected
    assert circumstances(store, "session-1") == Circumstances(frozenset(), {}, {})


def test_facts_that_were_told_later_are_kept() -> None:
    untold = dataclasses.replace(NODES, machine={"kernel": UNTOLD}, software={"mpi": UNTOLD})
    found = Provenance([NODES, untold])
    key = SeriesKey("testbed", "main", "openmpi", "C", "latency")
    assert found.of(key, "session-0").software["mpi"] == "Open MPI 4"
    assert found.of(key, "session-0").machines["n1"] == {"kernel": "6.1.0"}


def test_sessions_that_ended_are_known(logs: Path, store: Path) -> None:
    end = Session(time=NODES.time, session="session-0", system="testbed", info={"uuid": "u"})
    append(logs, [case(), end])
    read(store, logs)
    with History.open_to_read(store) as history:
        assert history.sessions() == [end]
