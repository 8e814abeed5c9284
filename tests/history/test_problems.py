import gzip
from pathlib import Path

import pytest
from tests.history.recorded import NOW, append, line, night, nights, perflog, problems, read, table

from fabricheck.errors import FabricheckError
from fabricheck.history.problems import Kind
from fabricheck.history.record import HEADER

DAMAGE = {
    "half a line": ("2026-11-21T06:12:44+00:00|good|pa\n", "damaged"),
    "an empty line": ("\n", "damaged"),
    "a line too long": (line(9).rstrip("\n") + "|more\n", "damaged"),
    "a wrong time": (line(9, time="yesterday"), "damaged"),
    "a time before all computers": (line(9, time="1970-01-01T00:00:00+00:00"), "damaged"),
    "a wrong value": (line(9, value="fast"), "damaged"),
    "no finite value": (line(9, value="nan"), "damaged"),
    "a wrong size": (line(9, size="8.5"), "damaged"),  # type: ignore[arg-type]
    "wrong nodes": (line(9, nodes="two"), "damaged"),
    "a quote that never ends": (line(9, finding="x").replace("|x", '|"x'), "damaged"),
    "a future date": (line(90), "future"),
    "the same line": (line(0), "duplicate"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_line_is_counted_named_and_costs_only_itself(logs: Path, store: Path, damage: str):
    bad, kind = DAMAGE[damage]
    path = perflog(logs, line(0) + bad + line(1))
    if kind == "duplicate":
        path.write_text(HEADER + line(0) + bad + line(1))
    outcome = read(store, logs)
    assert (outcome.values, outcome.problems) == (2, 1)
    assert problems(store) == [(kind, "MpiPointToPoint.log", 3, 3)]
    append(path, night(2))
    assert read(store).values == 4
    assert problems(store) == [(kind, "MpiPointToPoint.log", 3, 3)]


def test_bytes_that_are_no_text_cost_their_line(logs: Path, store: Path):
    path = perflog(logs, line(0))
    with path.open("ab") as file:
        file.write(b"\xff\xfe\x00" + b"|" * 32 + b"\n" + line(1).encode())
    assert read(store, logs).values == 2
    assert problems(store) == [("damaged", path.name, 3, 3)]


def test_short_and_long_lines_do_not_hide_each_other(logs: Path, store: Path):
    good = line(0)
    short, long = good.replace("|us|", "|"), line(1).replace("|us|", "|us||")
    perflog(logs, short + long + line(2))
    assert read(store, logs).values == 1
    assert problems(store) == [("damaged", "MpiPointToPoint.log", 2, 3)]


def test_a_last_line_without_end_waits_for_it(logs: Path, store: Path):
    path = perflog(logs, night(0))
    whole = line(1)
    append(path, whole[:50])
    assert read(store, logs).values == 4
    assert problems(store) == [("cut", path.name, 6, 6)]
    append(path, whole[50:])
    assert read(store).values == 1
    assert problems(store) == []


def test_compressed_data_that_ends_early_gives_what_it_has(logs: Path, store: Path):
    path = perflog(logs, nights(range(12)))
    data = gzip.compress(path.read_bytes(), compresslevel=0)
    packed = path.with_name(path.name + ".h0.gz")
    packed.write_bytes(data[: len(data) // 2])
    path.unlink()
    assert 0 < read(store, logs).values < 48
    assert [kind for kind, *_ in problems(store)] == ["cut"]
    packed.write_bytes(data)
    read(store)
    assert table(store).height == 48
    assert problems(store) == []


def test_a_future_date_is_read_when_it_has_come(logs: Path, store: Path):
    perflog(logs, line(0) + line(90))
    assert read(store, logs).values == 1
    outcome = read(store, now=NOW.replace(year=2027, month=6))
    assert "come of age" in outcome.rebuilt
    assert table(store).height == 2
    assert problems(store) == []


STOPS = {
    Kind.UNITS: (line(1, unit="ms"), r"line 3: expected the unit 'us'.*found 'ms'"),
    Kind.CLOCK: (line(5) + line(1), r"line 4: expected no line older.*2026-11-02"),
    Kind.SESSION: (line(0, value=77), r"line 3: expected one value of job 100, found 9.5 and 77"),
}


@pytest.mark.parametrize("kind", STOPS)
def test_what_would_put_values_in_the_wrong_place_stops(logs: Path, store: Path, kind: Kind):
    text, message = STOPS[kind]
    perflog(logs, line(-1))
    read(store, logs)
    before = table(store)
    path = perflog(logs, line(0) + text, "testbed/main/Next.log")
    with pytest.raises(FabricheckError, match=f"Next.log, {message}.*--tolerate {kind}.*nothing"):
        read(store)
    assert table(store).equals(before)
    assert read(store, tolerate={kind}).problems == 1
    assert kind in {found for found, *_ in problems(store)}
    # What was let pass is let pass when everything is read anew.
    path.rename(path.with_name("Renamed.log"))
    read(store, rebuild=True)
    read(store)


def test_a_unit_that_changed_in_another_refresh_is_seen(logs: Path, store: Path):
    path = perflog(logs, line(0))
    read(store, logs)
    append(path, line(1, unit="ms"))
    with pytest.raises(FabricheckError, match="expected the unit 'us'"):
        read(store)


@pytest.mark.parametrize("text", ["result|other\npass|1\n", "no perflog at all\n", "\n", "a|a\n"])
def test_wrong_columns_are_refused(logs: Path, store: Path, text: str):
    perflog(logs, night(0))
    read(store, logs)
    path = logs / "testbed" / "main" / "Wrong.log"
    path.write_text(text)
    with pytest.raises(FabricheckError, match=r"Wrong.log, line 1: expected the header.*--skip"):
        read(store)
    assert table(store).height == 4
    read(store, skip=["Wrong.log"])
    assert read(store).unchanged == 1
