"""Sessions that no record names, and which of other suites' values are better."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.history.recorded import line, perflog, read

from fabricheck.benchmarks.metrics import Direction
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series
from fabricheck.history.store import History
from fabricheck.trend.detect import analyse
from fabricheck.trend.settings import Settings

HEADER = (
    "job_completion_time|reframe version|info|jobid=jobid|perf_var=perf_value|"
    "ref=perf_ref (l=perf_lower_thres, u=perf_upper_thres)|perf_unit\n"
)
BEGIN = datetime(2026, 9, 1, tzinfo=UTC)


def series_of(store: Path, selection: Selection = Selection()) -> list[Series]:  # noqa: B008
    with History.open_to_read(store) as history:
        return list(history.series(selection))


def measured(logs: Path, *lines: tuple[float, str, int, float], thresholds: str = "l=-0.1, u=null"):
    """A perflog of hours, tests, jobs and values."""
    path = logs / "generic" / "default" / "Stream.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(
        f"{BEGIN + timedelta(hours=hour):%FT%T+00:00}|reframe 4.10.4|{name} @generic:default+gnu|"
        f"jobid={job or ''}|rate={value}|ref=12 ({thresholds})|GB/s\n"
        for hour, name, job, value in lines
    )
    path.write_text(HEADER + text)


SESSIONS = {
    "other cases": ([(0, "A", 1), (1, "B", 2), (3.9, "C", 3)], [[0], [0], [0]]),
    "a pause": ([(0, "A", 1), (3.1, "B", 2)], [[0], [3.1]]),
    "another job": ([(0, "A", 1), (1, "B", 2), (2, "A", 3), (3, "B", 4)], [[0, 2], [0, 2]]),
    "the same job": ([(0, "A", 1), (1, "A", 1)], [[0]]),
    "no jobs": ([(0, "A", 0), (1, "A", 0)], [[0, 1]]),
    "a repetition": ([(0, "A %.repeat_no=0", 1), (1, "A %.repeat_no=1", 2)], [[0]]),
    "a retry": ([(0, "A", 1), (1, "B", 2), (2, "B", 3), (3, "C", 4)], [[0], [0, 2], [2]]),
}


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_without_name_is_told_by_time_and_job(logs: Path, store: Path, kind: str):
    lines, expected = SESSIONS[kind]
    measured(logs, *((*each, 12.5) for each in lines))
    read(store, logs)
    begun = [f"{BEGIN + timedelta(hours=hour):%FT%TZ}" for hours in expected for hour in hours]
    assert [name for series in series_of(store) for name in series.sessions] == begun


def test_sessions_are_the_same_in_every_selection(logs: Path, store: Path):
    measured(logs, *((hour / 2, "AB"[hour % 2], hour + 1, 12.5) for hour in range(48)))
    read(store, logs)
    whole = series_of(store)[1].sessions.tolist()
    late = Selection.read(["benchmark=B"], since=BEGIN + timedelta(hours=6.4))
    (part,) = series_of(store, late)
    assert part.sessions.tolist() == whole[6:]


def test_each_system_has_sessions_of_its_own(logs: Path, store: Path):
    hourly = [
        line(0, session="", job_id=str(job), time=f"2026-11-01T0{job}:30:00Z") for job in (1, 2)
    ]
    nightly = line(0, session="", system="other", job_id="7", time="2026-11-01T01:30:00Z")
    late = line(0, size=1, session="", system="other", job_id="8", time="2026-11-01T02:40:00Z")
    perflog(logs, "".join(hourly))
    perflog(logs, nightly + late, "other/main/MpiPointToPoint.log")
    read(store, logs)
    sessions = {series.key.system: set(series.sessions) for series in series_of(store)}
    assert sessions["other"] == {"2026-11-01T01:30:00Z"}
    assert len(sessions["testbed"]) == 2


@pytest.mark.parametrize(
    ("thresholds", "direction"),
    [
        ("l=-0.1, u=null", Direction.HIGHER),
        ("l=null, u=0.1", Direction.LOWER),
        ("l=-0.1, u=inf", Direction.HIGHER),
        ("l=-0.1, u=0.1", None),
        ("l=null, u=null", None),
    ],
)
def test_thresholds_tell_what_is_better(
    logs: Path, store: Path, thresholds: str, direction: Direction | None
):
    measured(logs, (0, "A", 1, 12.5), thresholds=thresholds)
    read(store, logs)
    assert [series.direction for series in series_of(store)] == [direction]


def test_a_drop_in_a_suite_that_runs_hourly_is_a_regression(logs: Path, store: Path):
    dice = np.random.default_rng(1)
    hours = 64 * 24
    rates = (
        12.5 * np.exp(dice.normal(0, 0.02, hours)) * np.where(np.arange(hours) < 60 * 24, 1, 0.8)
    )
    measured(logs, *((hour, "Stream", hour + 1, rate) for hour, rate in enumerate(rates)))
    read(store, logs)
    found = analyse(series_of(store), {"generic": Settings()}, [])
    assert found.exit_code == 1
    assert [str(event.since)[:10] for event in found.events] == ["2026-10-31"]
