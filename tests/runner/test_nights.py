"""Nights on disk: complete, missing, old."""

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabricheck.runner.nights import STEPS, Nights

NOW = datetime(2026, 11, 21, 2, tzinfo=UTC)
DAY = timedelta(days=1)
FINE = {"run": 1, "history": 0, "trend": 1, "page": 1}


def begin(
    nights: Nights,
    days_ago: float,
    *,
    complete: bool = True,
    codes: Mapping[str, int] | None = None,
) -> Path:
    night = nights.begin(NOW - days_ago * DAY)
    (night.directory / STEPS).write_text("run\nhistory\n")
    if complete:
        nights.complete(night, codes or FINE, night.began + timedelta(hours=1))
    return night.directory


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return Nights(tmp_path / "reports" / "nights")


def test_before_the_first_night_none_is_missing(nights: Nights) -> None:
    assert nights.missing(NOW, DAY) == []
    assert nights.all() == []


def test_a_night_of_yesterday_is_enough(nights: Nights) -> None:
    directory = begin(nights, 1)
    assert nights.missing(NOW, DAY) == []
    assert json.loads((directory / "night.json").read_text())["codes"] == FINE
    assert (nights.root / "latest").resolve() == directory


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_is_no_record_of_a_night(
    nights: Nights, make: Callable[[Path], None]
) -> None:
    record = begin(nights, 0.5) / "night.json"
    record.unlink()
    make(record)
    assert "night.json" in nights.missing(NOW, DAY)[0]


def test_a_night_that_did_not_come_is_missing(nights: Nights) -> None:
    begin(nights, 2)
    (note,) = nights.missing(NOW, DAY)
    assert note == (
        "NIGHT MISSING: the last that was completed began 2026-11-19 02:00 UTC; one is expected "
        "every 24 h"
    )
    assert nights.missing(NOW, 2 * DAY) == []


def test_a_night_that_was_killed_is_named_until_one_is_completed(nights: Nights) -> None:
    begin(nights, 2)
    begin(nights, 1, complete=False)
    first, second = nights.missing(NOW, DAY)
    assert first.startswith("NIGHT MISSING")
    assert second == (
        "the night of 2026-11-20 02:00 UTC did not come to its end: it was stopped in step history"
    )
    begin(nights, 0.5)
    assert nights.missing(NOW, DAY) == []


def test_if_no_night_ever_came_to_its_end_it_says_so(nights: Nights) -> None:
    begin(nights, 0.1, complete=False)
    assert nights.missing(NOW, DAY)[0] == "NIGHT MISSING: none was ever completed"


def test_two_nights_of_one_second_are_two(nights: Nights) -> None:
    assert begin(nights, 0) != begin(nights, 0)
    assert len(nights.all()) == 2


def test_old_nights_go_but_never_the_last_complete_one(nights: Nights) -> None:
    begin(nights, 50)
    kept = begin(nights, 40)
    (nights.root / "notes").mkdir()
    (nights.root / "20269999T000000Z").mkdir()
    (nights.root / "20200101T020000Z").write_text("a file")
    (nights.root / "20200102T020000Z").symlink_to("notes")
    (nights.root / "20200103T020000Z").mkdir()
    (nights.root / "20200103T020000Z" / "thesis.tex").write_text("precious")
    before = {path.name for path in nights.root.glob("20200*")}
    assert nights.remove_old(NOW, 30 * DAY, 1) == []
    assert {path.name for path in nights.root.glob("20200*")} == before
    (nights.root / "20200103T020000Z" / "thesis.tex").rename(nights.root / "thesis.tex")
    assert nights.remove_old(NOW, 30 * DAY, 1) == []
    assert [night.directory for night in nights.all()] == [kept]
    assert (nights.root / "notes").exists()


def test_a_clock_in_the_future_removes_nothing_that_is_new(nights: Nights) -> None:
    kept = [begin(nights, days) for days in (2, 1, 0)]
    begin(nights, -3650)
    assert nights.remove_old(NOW + 3650 * DAY, 30 * DAY, 30) == []
    assert all(directory.exists() for directory in kept)


@pytest.mark.parametrize(
    ("codes", "failed"),
    [
        (FINE, ""),
        ({**FINE, "history": 1}, "history"),
        ({**FINE, "run": 70, "page": -9}, "run, page"),
        ({"run": 0, "trend": 0, "page": 0}, "history"),
        ({"run": 2, "history": 0, "trend": 0}, "run"),
        ({}, "night.json"),
    ],
)
def test_a_night_counts_only_if_each_step_did_its_work(
    nights: Nights, codes: Mapping[str, int], failed: str
) -> None:
    begin(nights, 1)
    directory = begin(nights, 0.1, codes=codes)
    if not codes:
        (directory / "night.json").write_text("{}")
    expected = [
        f"NIGHT FAILED in {failed}: that of 2026-11-20 23:36 UTC; {directory} has its output"
    ]
    assert nights.missing(NOW, DAY) == (expected if failed else [])
    assert len(nights.missing(NOW + DAY, DAY)) == (2 if failed else 0)


@pytest.mark.parametrize(
    "record",
    [
        {"codes": FINE, "every_hours": 2e10},
        {"codes": FINE, "every_hours": -24},
        {"codes": {**FINE, "run": 10**400}},
    ],
)
def test_a_record_without_sense_is_a_damaged_one(nights: Nights, record: dict[str, object]) -> None:
    (begin(nights, 0.1) / "night.json").write_text(json.dumps(record))
    assert nights.missing(NOW, DAY)[0].startswith("NIGHT FAILED in night.json")
    (night,) = nights.all()
    assert night.overdue > NOW
    assert night.codes == {}


@pytest.mark.parametrize("complete", [True, False])
def test_a_night_of_the_future_counts_for_nothing(nights: Nights, complete: bool) -> None:
    begin(nights, 30)
    future = begin(nights, -3650, complete=complete)
    missing, note = nights.missing(NOW, DAY)
    assert missing.startswith("NIGHT MISSING: the last that was completed began 2026-10-22")
    assert f"{future} is dated in the future" in note


def test_steps_that_are_no_text_are_named_all_the_same(nights: Nights) -> None:
    (begin(nights, 0.1, complete=False) / STEPS).write_bytes(b"run\n\xff\n")
    assert nights.all()[0].stopped_at == "\N{REPLACEMENT CHARACTER}"
