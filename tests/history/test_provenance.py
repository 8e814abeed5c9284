"""The provenance of sessions: written whole, read once, and known again for each series."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.history.recorded import append, line, night, nights, perflog, problems, read, status

from fabricheck.errors import FabricheckError
from fabricheck.history import provenance
from fabricheck.history.provenance import FILE, UNTOLD, Circumstances, Origin, Provenance
from fabricheck.history.store import History

ORIGIN = Origin(
    time="2026-11-01T06:00:00+00:00",
    session="session-0",
    system="testbed",
    partition="main",
    environment="openmpi",
    nodes=("n1", "n2"),
    machine={"kernel": "6.1.0", "bios": UNTOLD},
    software={"compiler": "gcc 12", "mpi": "Open MPI 4"},
)


def circumstances(store: Path, session: str) -> Circumstances:
    with History.open_to_read(store) as history:
        found = history.provenance()
        return found.of(next(history.series()).key, session)


def test_what_is_written_is_read_for_the_series_of_the_session(logs: Path, store: Path):
    path = perflog(logs, line(node_list="n1.site,n2", ucx_version="1.13"))
    for origin in (ORIGIN, replace(ORIGIN, nodes=("n9",)), replace(ORIGIN, environment="mpich")):
        provenance.append(path.with_name(FILE), origin)
    assert read(store, logs).problems == 0
    found = circumstances(store, "session-0")
    assert found.nodes == {"n1", "n2"}
    assert found.machines == {"n1": {"kernel": "6.1.0"}, "n2": {"kernel": "6.1.0"}}
    assert found.software == {"compiler": "gcc 12", "mpi": "Open MPI 4", "ucx": "1.13"}
    assert circumstances(store, "session-1") == Circumstances(frozenset(), {}, {})


def test_a_record_without_session_is_found_by_its_time(logs: Path, store: Path):
    perflog(logs, night(0, session="", commit="abc", node_list="n1"))
    read(store, logs)
    with History.open_to_read(store) as history:
        (series, *_) = history.series()
        found = history.provenance().of(series.key, str(series.sessions[0]))
    assert (found.nodes, found.software) == ({"n1"}, {"commit": "abc"})


def test_a_second_refresh_reads_what_is_new(logs: Path, store: Path):
    path = perflog(logs, nights(range(2))).with_name(FILE)
    provenance.append(path, ORIGIN)
    read(store, logs)
    assert (read(store).files, read(store).unchanged) == (0, 2)
    provenance.append(path, replace(ORIGIN, session="session-1", nodes=("n3",)))
    assert read(store).files == 1
    path.rename(path.with_name(f"{FILE}.1"))
    assert read(store).rebuilt == ""
    with History.open_to_read(store) as history:
        key = next(history.series()).key
        assert history.provenance().of(key, "session-1").nodes == {"n3"}


DAMAGE = {
    "half a line": ('{"time": "2026-11', "damaged"),
    "no record": ("{}", "damaged"),
    "a list": ("[]", "damaged"),
    "a number as a fact": (ORIGIN.line().replace('"6.1.0"', "6"), "damaged"),
    "no time": (ORIGIN.line().replace("2026-11-01T", "yesterday"), "damaged"),
    "nodes that are a text": (ORIGIN.line().replace(json.dumps(ORIGIN.nodes), '"n1"'), "damaged"),
    "half a surrogate pair": (ORIGIN.line().replace("6.1.0", "\\ud800"), "damaged"),
    "nesting without end": ("[" * 100_000, "damaged"),
    "no text": ("\udcff\udcfe", "damaged"),
    "the same line": (ORIGIN.line(), "duplicate"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_line_is_counted_named_and_costs_only_itself(logs: Path, store: Path, damage: str):
    bad, kind = DAMAGE[damage]
    path = perflog(logs, nights(range(2))).with_name(FILE)
    text = ORIGIN.line() + bad.rstrip("\n") + "\n" + replace(ORIGIN, session="session-1").line()
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert read(store, logs).problems == 1
    assert problems(store) == [(kind, FILE, 2, 2)]
    assert circumstances(store, "session-1").machines


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{}", "expected 'time' in a record of provenance, found none"),
        (ORIGIN.line().replace('"nodes"', '"hosts"'), "expected 'nodes' in a record"),
        ("[]", "expected a record of provenance in JSON, found another form"),
        ("{", "expected a record of provenance in JSON, found: Expecting property name"),
    ],
)
def test_what_a_damaged_record_lacks_is_told_in_words(bad: str, told: str):
    with pytest.raises(ValueError, match=told) as error:
        provenance.read_line(bad)
    assert "Error" not in str(error.value)


def test_a_cut_line_waits_for_its_end_and_does_not_damage_the_next(logs: Path, store: Path):
    path = perflog(logs, night(0)).with_name(FILE)
    provenance.append(path, ORIGIN)
    append(path, ORIGIN.line()[:40])
    read(store, logs)
    assert problems(store) == [("cut", FILE, 2, 2)]
    provenance.append(path, replace(ORIGIN, nodes=("n3",)))
    read(store)
    assert problems(store) == [("damaged", FILE, 2, 2)]
    assert circumstances(store, "session-0").nodes == {"n1", "n2", "n3"}


def test_provenance_alone_is_no_record(logs: Path, store: Path):
    provenance.append(logs / FILE, ORIGIN)
    with pytest.raises(FabricheckError, match="expected perflogs"):
        read(store, logs)


def test_provenance_is_counted_among_the_files(logs: Path, store: Path):
    provenance.append(perflog(logs, night(0)).with_name(FILE), ORIGIN)
    read(store, logs)
    assert len(status(store).sources) == 2


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricheckError, match="expected to append to the provenance"):
        provenance.append(tmp_path / "file" / FILE, ORIGIN)


def test_a_line_is_json_for_other_tools():
    assert json.loads(ORIGIN.line())["machine"]["bios"] == "not available"


def test_facts_that_were_told_later_are_kept():
    untold = replace(ORIGIN, machine={"kernel": UNTOLD}, software={"mpi": UNTOLD})
    found = Provenance([ORIGIN, untold])
    key = provenance.SeriesKey(
        *("testbed", "main", "openmpi", "C", "latency", "tcp-2n", "tcp", 2, 2, "mpi_probe"),
        *("latency", "p50", 8, "us"),
    )
    assert found.of(key, "session-0").software["mpi"] == "Open MPI 4"
    assert found.of(key, "session-0").machines["n1"] == {"kernel": "6.1.0"}
