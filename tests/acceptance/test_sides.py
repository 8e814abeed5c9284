from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from tests.history.recorded import case, read
from tests.refusals import refused

from fabricheck.acceptance.sides import read_sides
from fabricheck.history.store import History
from fabricheck.record.entries import Session
from fabricheck.record.write import append

UUIDS = [f"0000000{number}-1111-2222-3333-444444444444" for number in range(6)]
NIGHTS = {"before": (0, 3), "after": (1, 2)}


def ended(number: int) -> Session:
    """The end of a session of an interleaved campaign, and of one more."""
    state = next((side for side, nights in NIGHTS.items() if number in nights), None)
    start = datetime(2026, 11, 1 + number, 5, 50, tzinfo=UTC)
    info = {"uuid": UUIDS[number], "time_start_unix": start.timestamp(), "num_aborted": 0}
    if state:
        info |= {"campaign": "fw", "state": state}
    return Session(time=start.isoformat(), session=f"session-{number}", system="testbed", info=info)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    """Five nights."""
    append(tmp_path / "logs", [each for n in range(5) for each in (case(n), ended(n))])
    read(tmp_path / "store", tmp_path / "logs")
    with History.open_to_read(tmp_path / "store") as opened:
        yield opened


STATE = '?campaign=="fw" and state=="{}" and num_aborted==0'


@pytest.mark.parametrize(
    ("before", "after", "numbers"),
    [
        (["20261101:20261103"], ["20261103:20261103+2d"], ([0, 1], [2, 3])),
        ([STATE.format("before")], [STATE.format("after")], ([0, 3], [1, 2])),
        (['20261103:now?state=="before"'], ["20261101:20261102"], ([3], [0])),
        ([UUIDS[0], "session-4"], ["session-2"], ([0, 4], [2])),
    ],
    ids=["periods", "filters", "filter of a period", "uuid and name"],
)
def test_selections_are_reframes_or_name_a_session(
    history: History, before: list[str], after: list[str], numbers: tuple[list[int], list[int]]
):
    found = read_sides(history, before, after)
    for side, wanted in zip(NIGHTS, numbers, strict=True):
        sessions = sorted(found.filter(pl.col("side") == side)["session"].unique())
        assert sessions == [f"session-{number}" for number in wanted]
    assert len(found) == 4 * sum(map(len, numbers))


def test_only_some_series_may_be_wanted(history: History):
    found = read_sides(history, ["session-0"], ["session-1"], ["size=8"])
    assert found["size"].unique().to_list() == [8]


@pytest.mark.parametrize(
    "text",
    ["", "yesterday:now", "20261101:20261102:20261103", "now:", '?state=="', f"{UUIDS[0]}:0:1"],
)
def test_what_is_no_selection_is_bad_input(history: History, text: str):
    with refused("FC2009"):
        read_sides(history, [text], ["session-1"])


@pytest.mark.parametrize("text", ["session-9", "?state=='never'", "20250101:20250102", UUIDS[5]])
def test_what_selects_nothing_is_bad_input(history: History, text: str):
    with refused("FC2008", "expected values after the change"):
        read_sides(history, ["session-0"], [text])


def test_a_run_is_before_or_after(history: History):
    with refused("FC2007", "found session-1 on both sides"):
        read_sides(history, ["session-0", "session-1"], ["20261102:20261104"])
