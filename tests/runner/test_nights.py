"""Nights on disk: complete, missing, old."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.runner.nights import STEPS, Nights

NOW = datetime(2026, 11, 21, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def begin(nights: Nights, days_ago: float, *, complete: bool = True) -> Path:
    night = nights.begin(NOW - days_ago * DAY)
    (night.directory / STEPS).write_text("run\nhistory\n")
    if complete:
        nights.complete(night, {"run": 0}, night.began + timedelta(hours=1))
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
    assert json.loads((directory / "night.json").read_text())["codes"] == {"run": 0}
    assert (nights.root / "latest").resolve() == directory


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
    nights.remove_old(NOW, 30 * DAY)
    assert [night.directory for night in nights.all()] == [kept]
    assert (nights.root / "notes").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricheckError, match="expected a place for the night at"):
        Nights(tmp_path / "file").begin(NOW)
