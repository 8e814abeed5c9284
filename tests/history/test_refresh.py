import gzip
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.history.recorded import (
    NOW,
    append,
    line,
    night,
    nights,
    perflog,
    problems,
    read,
    status,
    table,
)

from fabricheck.errors import FabricheckError
from fabricheck.history.problems import Kind
from fabricheck.history.record import HEADER
from fabricheck.history.selection import Selection
from fabricheck.history.store import History


def test_every_field_of_the_record_is_there(logs: Path, store: Path):
    text = line(
        value=9.25,
        reference="10",
        lower="5",
        upper="inf",
        finding='a | and a "quote"',
        node_list="n1,n2",
        mpi_version="4.1.4",
    )
    perflog(logs, text)
    assert read(store, logs).values == 1
    (row,) = table(store).to_dicts()
    assert row["time"].isoformat() == "2026-11-01T06:00:00+00:00"
    expected = {
        "system": "testbed",
        "partition": "main",
        "environ": "openmpi",
        "check": "MpiPointToPoint",
        "benchmark": "latency",
        "placement": "tcp-2n",
        "transport": "tcp",
        "num_nodes": 2,
        "metric": "latency",
        "statistic": "p50",
        "size": 8,
        "unit": "us",
        "value": 9.25,
        "level": "good",
        "result": "pass",
        "job": "100",
        "session": "session-0",
        "reference": 10,
        "lower": 5,
        "upper": float("inf"),
        "warning_lower": None,
        "finding": 'a | and a "quote"',
        "node_list": "n1,n2",
        "mpi": "openmpi",
        "mpi_version": "4.1.4",
        "ranks": 2,
    }
    assert {name: row[name] for name in expected} == expected


def test_a_series_has_one_value_for_each_session(logs: Path, store: Path):
    repeated = [line(0, value=value, job_id=str(job)) for job, value in enumerate((3, 9, 4))]
    perflog(logs, "".join(repeated) + line(2, value=7) + line(1, value=5))
    read(store, logs, tolerate={Kind.CLOCK})
    with History.open_to_read(store) as history:
        (series,) = history.series()
    assert series.values.tolist() == [4, 5, 7]
    assert series.sessions.tolist() == ["session-0", "session-1", "session-2"]
    assert series.times.dtype == np.dtype("datetime64[s]")
    assert str(series.times[0]) == "2026-11-01T06:00:00"


def test_what_was_not_measured_is_in_no_series(logs: Path, store: Path):
    perflog(logs, line(value="", level="untrusted"))
    assert read(store, logs).values == 1
    with History.open_to_read(store) as history:
        assert list(history.series()) == []


def test_series_are_selected_by_their_fields(logs: Path, store: Path):
    perflog(logs, nights(range(3)))
    read(store, logs)
    with History.open_to_read(store) as history:
        found = list(history.series(Selection.read(["size=1,8B", "nodes=2"])))
        later = list(history.series(Selection.read(["size=8"], since=NOW.replace(day=3, hour=0))))
    assert [series.key.size for series in found] == [1, 8]
    assert [len(series) for series in later] == [1]


@pytest.mark.parametrize(
    ("term", "message"),
    [("latency", "expected FIELD=VALUE"), ("colour=red", "FIELD=VALUE"), ("size=big", "size"),
     ("nodes=two", "number of nodes"), ("nodes=²", "number of nodes"), ("size=²", "size")],
)  # fmt: skip
def test_a_wrong_selection_is_refused(term: str, message: str):
    with pytest.raises(FabricheckError, match=message):
        Selection.read([term])


def test_a_second_refresh_reads_only_what_is_new(logs: Path, store: Path):
    path = perflog(logs, night(0))
    perflog(logs, night(0), "testbed/main/Other.log")
    read(store, logs)
    assert (outcome := read(store)).unchanged == 2
    assert outcome.values == outcome.files == 0
    append(path, night(1))
    outcome = read(store)
    assert (outcome.values, outcome.files, outcome.unchanged, outcome.rebuilt) == (4, 1, 1, "")
    assert table(store).height == 8


def test_rotation_and_compression_are_no_news(logs: Path, store: Path):
    path = perflog(logs, nights(range(40)))
    read(store, logs, now=NOW.replace(year=2027))
    before = table(store)
    path.rename(aside := path.with_name(path.name + ".h0"))
    perflog(logs, night(40))
    outcome = read(store, now=NOW.replace(year=2027))
    assert (outcome.values, outcome.rebuilt, outcome.problems) == (4, "", 0)
    with gzip.open(f"{aside}.gz", "wb") as file:
        file.write(aside.read_bytes())
    aside.unlink()
    outcome = read(store, now=NOW.replace(year=2027))
    assert (outcome.values, outcome.rebuilt, outcome.problems) == (0, "", 0)
    assert table(store).height == before.height + 4


def test_a_compressed_file_that_grew_is_read_on(logs: Path, store: Path):
    path = perflog(logs, night(0))
    packed = path.with_name(path.name + ".1.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    read(store, logs)
    packed.write_bytes(packed.read_bytes() + gzip.compress(night(1).encode()))
    outcome = read(store)
    assert (outcome.values, outcome.rebuilt) == (4, "")


@pytest.mark.parametrize("change", ["cut off", "overwritten", "removed", "corrected"])
def test_lines_that_are_gone_leave_the_history(logs: Path, store: Path, change: str):
    path = perflog(logs, nights(range(3)))
    perflog(logs, night(5), "testbed/main/Other.log")
    read(store, logs)
    if change == "cut off":
        path.write_text(HEADER + night(0))
    elif change == "overwritten":
        path.write_text(HEADER + nights(range(7, 10)))
    elif change == "corrected":
        other = path.with_name("new")
        other.write_text(path.read_text().replace("|9.58|", "|9.59|"))
        other.rename(path)
    else:
        path.unlink()
    outcome = read(store)
    assert "lines that were read are gone" in outcome.rebuilt
    assert "MpiPointToPoint.log" in outcome.rebuilt
    fresh = store.with_name("fresh")
    read(fresh, logs)
    assert table(store).equals(table(fresh))


def test_several_hosts_have_one_history(tmp_path: Path, store: Path):
    for host in range(3):
        perflog(tmp_path / f"host{host}", night(host))
    outcome = read(store, *(tmp_path / f"host{host}" for host in range(3)))
    assert (outcome.values, outcome.files) == (12, 3)


def test_a_copy_of_a_perflog_counts_once(logs: Path, store: Path):
    path = perflog(logs, nights(range(2)))
    shutil.copy(path, f"{path}.1")
    assert read(store, logs).values == 8
    assert problems(store) == [("duplicate", "MpiPointToPoint.log.1", 2, 9)]


def test_an_older_header_is_read_by_its_names(logs: Path, store: Path):
    header = HEADER.replace("|session", "").replace("|finding", "")
    text = line(0).rstrip("\n").rsplit("|", 2)[0] + "\n"
    path = perflog(logs, "", "testbed/main/MpiPointToPoint.log.h0")
    path.write_text(header + text)
    assert read(store, logs).values == 1
    assert table(store)["session"].to_list() == [""]


@pytest.mark.parametrize("place", ["empty", "absent"])
def test_a_place_without_perflogs_is_refused(tmp_path: Path, store: Path, place: str):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FabricheckError, match=f"expected perflogs.* in .*{place}, found no"):
        read(store, tmp_path / place)
    assert status(store).roots == []


def test_a_place_that_became_empty_keeps_its_history(logs: Path, store: Path):
    path = perflog(logs, night(0))
    read(store, logs)
    path.unlink()
    with pytest.raises(FabricheckError, match="see whether it is mounted"):
        read(store)
    assert table(store).height == 4


def test_a_store_that_cannot_be_written_is_named(logs: Path, tmp_path: Path):
    perflog(logs, night(0))
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricheckError, match="place for the history that can be written"):
        read(tmp_path / "file" / "store", logs)


def test_a_history_that_is_not_there_is_not_made_by_looking(store: Path):
    with pytest.raises(FabricheckError, match="found none: read the record first"):
        table(store)
    assert not store.exists()


def test_a_damaged_store_is_made_anew(logs: Path, store: Path):
    perflog(logs, nights(range(3)))
    read(store, logs)
    before = table(store)
    segment = next(store.glob("*.parquet"))
    os.truncate(segment, 10)
    assert read(store).rebuilt == "the store was damaged"
    assert table(store).equals(before)


def test_a_store_of_another_version_is_made_anew(logs: Path, store: Path, monkeypatch):
    perflog(logs, nights(range(3)))
    read(store, logs)
    monkeypatch.setattr("fabricheck.history.catalog._FORMAT", "of tomorrow")
    with pytest.raises(FabricheckError, match="found another: read the record again"):
        table(store)
    assert read(store, logs).values == 12


def test_many_nights_do_not_become_many_files(logs: Path, store: Path):
    path = perflog(logs, "")
    for number in range(60):
        append(path, night(number))
        read(store, logs, now=NOW.replace(year=2027))
    assert len(list(store.glob("*.parquet"))) < 30
    assert table(store).height == 240


def test_the_examples_beside_the_record_are_none_of_it(logs: Path, store: Path):
    perflog(logs, night(0))
    perflog(logs / "example", night(1))
    assert read(store, logs).values == 4
    assert read(store, logs / "example").values == 4


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_reading_does_not_matter(tmp_path: Path, seed: int):
    """Nights over hosts, files and refreshes in any order, with copies and damage."""
    dice = random.Random(seed)
    everything = tmp_path / "everything"
    roots = [tmp_path / f"host{number}" for number in range(3)]
    for root in roots:
        perflog(root, "", "testbed/main/empty.log")
    stepwise = tmp_path / "stepwise"
    paths = [perflog(root, "", f"testbed/main/{name}.log") for root in roots for name in "ab"]
    for number in range(12):
        for path in dice.sample(paths, dice.randint(1, 3)):
            append(path, dice.choice(["", "", "damaged\n"]) + night(number))
        if dice.random() < 0.3:
            path = dice.choice(paths)
            number_of_old = len(list(path.parent.glob(f"{path.name}.h*")))
            path.rename(path.with_name(f"{path.name}.h{number_of_old}"))
            path.write_text(HEADER)
        if dice.random() < 0.7:
            read(stepwise, *dice.sample(roots, dice.randint(1, 3)))
    read(stepwise, *roots)
    read(everything, *reversed(roots))
    assert table(stepwise).equals(table(everything))
    assert table(stepwise).height == 48


def test_a_refresh_waits_for_another_and_says_so(logs: Path, store: Path, monkeypatch):
    perflog(logs, night(0))
    read(store, logs)
    for module in ("catalog", "database"):
        monkeypatch.setattr(f"fabricheck.history.{module}.WAIT", 0.1)
    with (
        History.open(store) as first,
        first._catalog.transaction(store),
        pytest.raises(FabricheckError, match="found it locked by another process"),
    ):
        read(store)


@pytest.mark.parametrize(
    "other",
    [
        {"placement": "rc-4n-full", "ranks": "256"},
        {"ranks": "256"},
        {"program": "osu"},
    ],
)
def test_what_was_measured_otherwise_is_a_series_of_its_own(
    logs: Path, store: Path, other: dict[str, str]
):
    common = {"placement": "rc-4n", "transport": "rc", "nodes": "4", "ranks": "4"}
    perflog(logs, line(value=5.0, **common) + line(value=50.0, **{**common, **other}))
    read(store, logs)
    with History.open_to_read(store) as history:
        found = list(history.series())
    assert sorted(each.values.tolist() for each in found) == [[5.0], [50.0]]
    assert len({str(each.key) for each in found}) == 2
