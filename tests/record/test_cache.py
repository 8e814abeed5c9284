"""The columns of the record: what a refresh reads, and what of a store is believed and touched."""

import dataclasses
import errno
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.history.recorded import NOW, case, problems, read, record, status, table
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.record import cache
from fabricheck.record.entries import Sample, to_line


def write(path: Path, *cases: object) -> None:
    path.write_text("".join(to_line(each) for each in cases))  # type: ignore[arg-type]


def test_a_second_refresh_reads_only_what_is_new(logs: Path, store: Path) -> None:
    record(logs, case(0))
    record(logs, case(0, partition="rdma"))
    read(store, logs)
    assert (outcome := read(store)).unchanged == 2
    assert outcome.values == outcome.files == 0
    record(logs, case(1))
    outcome = read(store)
    assert (outcome.values, outcome.files, outcome.unchanged, outcome.changed) == (4, 1, 1, [])
    assert table(store).height == 12


@pytest.mark.parametrize("change", ["cut off", "overwritten", "corrected", "in place", "removed"])
def test_lines_that_are_gone_leave_the_history(logs: Path, store: Path, change: str) -> None:
    path = record(logs, *map(case, range(3)))
    record(logs, case(5, partition="rdma"))
    read(store, logs)
    then = path.stat()
    if change == "cut off":
        write(path, case(0))
    elif change == "overwritten":
        write(path, *map(case, range(7, 10)))
    elif change == "in place":
        write(path, case(0), case(1, 8.5), case(2))
        os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
        assert (path.stat().st_ino, path.stat().st_size) == (then.st_ino, then.st_size)
    elif change == "corrected":
        write(path.with_name("new"), case(0), case(1, 7), case(2))
        path.with_name("new").rename(path)
    else:
        path.unlink()
    assert len(read(store).changed) == 1
    read(store.with_name("fresh"), logs)
    assert table(store).equals(table(store.with_name("fresh")))


DAMAGE = {
    "prose": b"no line\n",
    "an empty line": b"\n",
    "no text": b"\xff\xfe\x00\n",
    "another value": to_line(case(9)).replace("9.51", "9.52").encode(),
    "a line of half": to_line(case(9))[:100].encode() + b"\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_line_is_counted_named_and_costs_only_itself(
    logs: Path, store: Path, damage: str
) -> None:
    path = record(logs, case(0))
    with path.open("ab") as file:
        file.write(DAMAGE[damage])
    record(logs, case(1))
    outcome = read(store, logs)
    assert (outcome.values, outcome.problems) == (8, 1)
    assert problems(store) == [("damaged", "2026-11.jsonl", 2)]
    record(logs, case(2))
    assert read(store).values == 4
    assert problems(store) == [("damaged", "2026-11.jsonl", 2)]


def test_a_sound_line_of_other_types_costs_only_itself(logs: Path, store: Path) -> None:
    path = record(logs, case(0))
    odd = dataclasses.replace(case(1), samples=(Sample(metric="x", size="big"),))  # type: ignore[arg-type]
    with path.open("a") as file:
        file.write(to_line(odd))
    record(logs, case(2))
    read(store, logs)
    assert table(store).height == 8
    assert problems(store) == [("damaged", "2026-11.jsonl", 2)]


def sealed(given: object, **how: Any) -> str:
    """A line as another writer would make it, with its checksum."""
    body = json.dumps({"kind": "case", **json.loads(to_line(case(1))), **given}, **how)[1:]
    body = re.sub(r'"crc": ?"\w+", ?', "", body)
    return f'{{"crc":"{zlib.crc32(body.encode()):08x}",{body}\n'


COMPACT = {"separators": (",", ":")}
ODD_TIMES = (
    *("2026-11-22T03:00:00Z", "2026-11-22T03:00:00.5+00:00", "2026-11-22 03:00:00+00:00"),
    *("2026-11-22T03:00:00", "2026-11-22", "2026-02-30T00:00:00+00:00", "", 5, None),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "٢026-11-22T03:00:00+00:00"),
)
ODD = [
    *({"time": time} for time in ODD_TIMES),
    *({"samples": [{"metric": "x", "value": value}]} for value in (math.nan, math.inf, -math.inf)),
    {"samples": [{"metric": "x", "lower": math.nan}]},
    {"samples": [{"metric": "x", "size": -1}]},
    {"num_nodes": -3},
    {"repeat": -1},
]


@pytest.mark.parametrize("given", ODD, ids=str)
def test_a_sound_line_with_an_impossible_figure_costs_only_itself(
    given: object, logs: Path, store: Path
) -> None:
    path = record(logs, case(0))
    with path.open("a") as file:
        file.write(sealed(given, **COMPACT))
    record(logs, case(2))
    read(store, logs)
    assert table(store).height == 8
    assert problems(store) == [("damaged", "2026-11.jsonl", 2)]


TEXT = 'a},{"metric":,"samples":[b'
SAMPLES = json.loads(to_line(case(1)))["samples"]
UNUSUAL = {
    "as the suite writes it": (sealed({}, **COMPACT), 4),
    "with blanks": (sealed({}), 4),
    "with no samples in a list": (sealed({"samples": []}, **COMPACT), 0),
    "its samples in another order": (
        sealed({"samples": [dict(reversed(each.items())) for each in SAMPLES]}, **COMPACT),
        4,
    ),
    "more after its samples": (sealed({"later": [{"samples": SAMPLES}]}, **COMPACT), 4),
    "samples of something else": (
        to_line(dataclasses.replace(case(1), samples=(), prerequisites=({"samples": [{"a": 1}]},))),
        0,
    ),
    "texts like what stands between samples": (
        to_line(dataclasses.replace(case(1), findings=(TEXT,), job=TEXT)),
        4,
    ),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_every_sound_line_is_read_however_it_was_written(
    logs: Path, store: Path, kind: str
) -> None:
    line, values = UNUSUAL[kind]
    path = record(logs, case(0))
    with path.open("a") as file:
        file.write(line)
    record(logs, case(2))
    assert read(store, logs).values == 8 + values
    assert problems(store) == []
    assert table(store).filter(session="session-1").height == values
    assert set(table(store)["metric"]) == {"latency"}


def test_a_last_line_without_end_waits_for_it(logs: Path, store: Path) -> None:
    path = record(logs, case(0))
    whole = to_line(case(1))
    with path.open("a") as file:
        file.write(whole[:50])
    assert read(store, logs).values == 4
    assert problems(store) == [("cut", path.name, 2)]
    with path.open("a") as file:
        file.write(whole[50:])
    assert read(store).values == 4
    assert problems(store) == []


def test_a_future_date_is_read_when_it_has_come(logs: Path, store: Path) -> None:
    record(logs, case(0), case(25))
    assert read(store, logs).values == 4
    assert problems(store) == [("future", "2026-11.jsonl", 2)]
    outcome = read(store, now=NOW.replace(year=2027))
    assert (outcome.values, outcome.changed) == (4, [])
    assert table(store).height == 8
    assert problems(store) == []


def test_a_clock_that_went_back_is_named(logs: Path, store: Path) -> None:
    record(logs, case(5), case(1))
    read(store, logs)
    assert problems(store) == [("clock", "2026-11.jsonl", 2)]
    assert table(store).height == 8


def test_a_pipe_is_named_and_never_opened(logs: Path, store: Path) -> None:
    path = record(logs, case(0)).with_name("2026-12.jsonl")
    os.mkfifo(path)
    outcome = read(store, logs)
    assert (outcome.values, len(outcome.unread)) == (4, 1)
    assert problems(store) == [("unread", "2026-12.jsonl", 0)]


@pytest.mark.parametrize("name", [b"new\nline", b"caf\xe9", b"tab\t"])
def test_a_place_of_any_name_is_read(tmp_path: Path, store: Path, name: bytes) -> None:
    logs = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    record(logs, case(0))
    assert read(store, logs).values == 4
    assert status(store).roots == [logs]
    assert read(store).unchanged == 1


@pytest.mark.parametrize("place", ["empty", "absent"])
def test_a_place_without_a_record_is_refused(tmp_path: Path, store: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FabricheckError, match=f"expected a record.* in .*{place}, found no"):
        read(store, tmp_path / place)


def test_a_place_that_became_empty_keeps_its_history(logs: Path, store: Path) -> None:
    path = record(logs, case(0))
    read(store, logs)
    path.unlink()
    with refused("FC0603"):
        read(store)
    assert table(store).height == 4


def test_several_hosts_have_one_history(tmp_path: Path, store: Path) -> None:
    roots = [tmp_path / f"host{host}" for host in range(3)]
    for number, root in enumerate(roots):
        record(root, case(number))
    assert (outcome := read(store, *roots)).values == 12
    assert outcome.files == 3


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_reading_does_not_matter(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    roots = [tmp_path / f"host{number}" for number in range(3)]
    for root in roots:
        record(root, case(0, benchmark="other"))
    for number in range(12):
        for root in dice.sample(roots, dice.randint(1, 3)):
            path = record(root, case(number))
            if dice.random() < 0.3:
                with path.open("a") as file:
                    file.write("damaged\n")
        if dice.random() < 0.7:
            read(tmp_path / "stepwise", *dice.sample(roots, dice.randint(1, 3)))
    read(tmp_path / "stepwise", *roots)
    read(tmp_path / "at once", *reversed(roots))
    assert table(tmp_path / "stepwise").equals(table(tmp_path / "at once"))
    assert table(tmp_path / "stepwise").height == 52


@pytest.mark.integration
def test_a_refresh_waits_for_another_and_says_so(
    logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(logs, case(0))
    read(store, logs)
    monkeypatch.setattr(cache, "_PATIENCE", 0.1)
    taken = pytest.raises(FabricheckError, match="another process at work")
    with History.open_to_read(store), History.open_to_read(store), taken:
        read(store)
    with History.open(store), pytest.raises(FabricheckError, match="another process at work"):
        table(store)


def test_a_full_disk_leaves_the_history_as_it_was(
    logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(logs, case(0))
    read(store, logs)
    before = table(store)
    record(logs, case(1))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched, History.open(store) as history:
        patched.setattr(Path, "replace", full)
        with refused("FC0606", r"No space.*make room"):
            history.refresh(now=NOW)
    assert table(store).equals(before)
    read(store)
    assert table(store).height == 8
    assert len(list(store.glob("*.parquet"))) == 3


def test_a_place_that_cannot_be_written_is_named(logs: Path, tmp_path: Path) -> None:
    record(logs, case(0))
    (tmp_path / "file").write_text("")
    with refused("FC0606"):
        read(tmp_path / "file" / "store", logs)


SCRIPT = """
import sys
from datetime import datetime
from pathlib import Path
from fabricheck.history.store import History

with History.open(Path(sys.argv[1])) as history:
    print("begun", flush=True)
    history.refresh([Path(sys.argv[2])], now=datetime.fromisoformat(sys.argv[3]))
"""


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_refresh_loses_nothing(logs: Path, store: Path, seed: int) -> None:
    for number in range(20):
        cases = (case(night, sizes=range(200)) for night in range(10))
        record(logs, *(dataclasses.replace(each, partition=f"p{number}") for each in cases))
    command = [sys.executable, "-c", SCRIPT, str(store), str(logs), NOW.isoformat()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 0.3))
        process.kill()
    assert process.returncode in (-signal.SIGKILL, 0)
    read(store, logs)
    assert table(store).height == 40_000
    assert len(list(store.glob("*.parquet"))) == 60


def test_provenance_of_a_part_is_read_too(logs: Path, store: Path) -> None:
    record(logs, case(0))
    read(store, logs)
    os.truncate(next(store.glob("*.others.parquet")), 0)
    with (
        History.open_to_read(store) as history,
        refused("FC0604"),
    ):
        history.provenance(Selection())
