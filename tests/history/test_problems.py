import gzip
import os
import re
from pathlib import Path

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
    "a time at the end of the calendar": (line(9, time="9999-12-31T23:59:59-14:00"), "damaged"),
    "a time at its beginning": (line(9, time="0001-01-01T00:00:00+14:00"), "damaged"),
    "a time before it": (line(9, time="-0001-01-01T00:00:00+00:00"), "damaged"),
    "a time of five digits": (line(9, time="+12026-01-01T00:00:00+00:00"), "damaged"),
    "a time below nothing": (line(9, value=-5), "damaged"),
    "a size below nothing": (line(9, size=-1), "damaged"),
    "nodes below nothing": (line(9, nodes="-3"), "damaged"),
    "ranks below nothing": (line(9, ranks="-2"), "damaged"),
    "ranks that are a word": (line(9, ranks="two"), "damaged"),
    "a size in superscript": (line(9, size="²"), "damaged"),  # type: ignore[arg-type]
    "a bound that is a word": (line(9, lower="abc"), "damaged"),
    "a bound that is no number": (line(9, warning_upper="nan"), "damaged"),
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


@pytest.mark.parametrize("damage", ["cut off", "overwritten", "of another checksum"])
def test_compressed_data_that_is_damaged_gives_what_it_has(logs: Path, store: Path, damage: str):
    path = perflog(logs, nights(range(12)))
    data = gzip.compress(path.read_bytes(), compresslevel=0)
    packed = path.with_name(path.name + ".h0.gz")
    half = len(data) // 2
    rest = {"cut off": b"", "overwritten": b"\xff" * half, "of another checksum": data[half:-8]}
    packed.write_bytes(data[:half] + (rest[damage] + b"12345678" if rest[damage] else b""))
    path.unlink()
    outcome = read(store, logs)
    least, most = (48, 48) if damage == "of another checksum" else (20, 26)
    assert least <= outcome.values <= most
    assert re.search(rf"h0.gz, line {outcome.values + 2}: .*lost", outcome.unread[0])
    assert [kind for kind, *_ in problems(store)] == ["lost"]
    packed.write_bytes(data + bytes(512))
    assert read(store).unread == []
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


NO_PERFLOG = {
    "other columns": b"result|other\npass|1\n",
    "prose": b"no perflog at all\n",
    "an empty line": b"\n",
    "a column twice": b"a|a\n",
    "a long line": b"0" * 200_000 + b"\n",
    "a line with a return inside": b"time|sys\rtem|value\n",
    "binary": b"\x7fELF\x00\xff|\x00\n\x01\n",
    "a variable without name": b"_value|_unit\n1|us\n",
}


@pytest.mark.parametrize("content", NO_PERFLOG)
def test_a_file_that_is_no_perflog_is_named_and_costs_only_itself(
    logs: Path, store: Path, content: str
):
    data = NO_PERFLOG[content]
    perflog(logs, night(0))
    path = logs / "testbed" / "main" / "Wrong.log"
    path.write_bytes(data)
    outcome = read(store, logs)
    assert outcome.values == 4
    assert outcome.unread[0].startswith(f"{path}: expected the header of a perflog")
    assert problems(store) == [("damaged", "Wrong.log", 1, data.count(b"\n"))]
    (_, problem), *_ = status(store).problems
    assert "expected the header of a perflog" in problem.detail
    assert "--skip" in problem.detail
    perflog(logs, night(1), "testbed/main/Next.log")
    assert read(store).values == 4
    read(store, skip=["Wrong.log"])
    assert problems(store) == []
    assert table(store).height == 8


def test_a_name_that_is_no_text_is_a_name(logs: Path, store: Path):
    path = perflog(logs, night(0)).rename(os.fsdecode(os.fsencode(logs) + b"/caf\xe9.log"))
    read(store, logs)
    assert read(store).unchanged == 1
    assert [source.path for source in status(store).sources] == [Path(path)]


def test_faults_that_differ_are_told_apart(logs: Path, store: Path):
    perflog(logs, "half|a\n" * 3 + line(0, value="fast") + line(1, value="slow"))
    read(store, logs)
    assert problems(store) == [
        ("damaged", "MpiPointToPoint.log", 2, 4),
        ("damaged", "MpiPointToPoint.log", 5, 6),
    ]
