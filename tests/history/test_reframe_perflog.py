"""Perflogs of other suites, as ReFrame 3.12 to 4.10 wrote them (tests/data/reframe)."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.history.recorded import problems, read, table

from fabricheck.history.reframe_perflog import title
from fabricheck.history.refresh import Outcome

DATA = Path(__file__).parents[1] / "data" / "reframe"
LATER = datetime(2026, 11, 23, tzinfo=UTC)

EXPECTED = {
    (f"Stream %threads={threads}", *variable)
    for threads in (1, 8)
    for variable in (
        ("bandwidth", 12.5, "GB/s", 12.0, 12 - 0.1 * 12, None),
        ("latency", 3.25, "us", 3.0, None, 3 + 0.2 * 3),
        ("residual", 0.5, "1", 0.5, 0.5 - 0.1 * 0.5, 0.5 + 0.1 * 0.5),
    )
}


def refresh(store: Path, *roots: Path, **options: Any) -> Outcome:
    return read(store, *roots, **{"now": LATER, **options})


def measured(frame: pl.DataFrame) -> set[tuple[object, ...]]:
    names = ("benchmark", "metric", "value", "unit", "reference", "lower", "upper")
    return set(frame.select(names).rows())


@pytest.mark.parametrize("kind", ["3.12", "4.2", "4.2-site", "4.7", "4.10", "4.10-site"])
def test_perflogs_of_every_version_are_read(kind: str, store: Path):
    assert refresh(store, DATA / kind).values == 12
    assert problems(store) == []
    found = table(store)
    assert measured(found) == EXPECTED
    places = found.select("system", "partition", "environ", "check").unique().rows()
    assert places == [("generic", "default", "builtin", "Stream")]
    assert found["job"].str.contains(r"^\d{5}$").all()


CHANGED = {
    "num_tasks in a log without header": ("3.12", r"(\|jobid=\d+)", r"\1|num_tasks=1"),
    "the time of writing": ("4.10-site", "job_completion_time", "asctime"),
    "a field twice": ("4.7", r"(?m)^([^|\n]+)", r"\1|\1"),
    "another place of the time": ("4.10-site", r"(?m)^([^|]*)\|([^|]*)", r"\2|\1"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_sites_own_format_is_read(change: str, logs: Path, store: Path):
    kind, before, after = CHANGED[change]
    shutil.copytree(DATA / kind, logs)
    for path in logs.rglob("*.log"):
        path.write_text(re.sub(before, after, path.read_text()))
    assert refresh(store, logs).values == 12
    assert problems(store) == []
    assert measured(table(store)) == EXPECTED


FIRST = "bandwidth=12.5|ref=12 (l=-0.1, u=null)|GB/s"
DAMAGE = {
    "prose": "killed",
    "a value that is a word": "bandwidth=fast|ref=12 (l=-0.1, u=null)|GB/s",
    "a threshold that is a word": "bandwidth=12.5|ref=12 (l=low, u=null)|GB/s",
    "no value": "bandwidth|ref=12 (l=-0.1, u=null)|GB/s",
    "a field too many": "bandwidth=12.5|ref=12 (l=-0.1, u=null)|GB/s|",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_line_costs_only_itself(damage: str, logs: Path, store: Path):
    shutil.copytree(DATA / "4.10-site", logs)
    path = logs / "generic" / "default" / "Stream.log"
    path.write_text(path.read_text().replace(FIRST, DAMAGE[damage], 1))
    assert refresh(store, logs).values == 11
    assert problems(store) == [("damaged", "Stream.log", 2, 2)]


def test_a_file_of_damaged_lines_alone_does_not_disturb_the_others(logs: Path, store: Path):
    shutil.copytree(DATA / "4.10", logs)
    header = (DATA / "4.10-site" / "generic" / "default" / "Stream.log").read_text().split("\n")[0]
    (logs / "Other.log").write_text(f"{header}\nhalf\n")
    assert refresh(store, logs).values == 12
    assert problems(store) == [("damaged", "Other.log", 2, 2)]


TIMES = ["inf", "nan", "1e15", "1767322800000", "-1e300", "9" * 400]


@pytest.mark.parametrize("time", TIMES)
def test_a_time_that_cannot_be_costs_its_line(time: str, logs: Path, store: Path):
    shutil.copytree(DATA / "4.10", logs)
    path = logs / "generic" / "default" / "Stream.log"
    path.write_text(path.read_text().replace("1795326311.5998814", time))
    assert refresh(store, logs).values == 9
    assert problems(store) == [("damaged", "Stream.log", 2, 2)]


@pytest.mark.parametrize(
    "name",
    [
        "Stream %threads=8",
        "Stream %threads=8 %.repeat_no=3",
        "Stream %threads=8 /322804eb @generic:default+builtin",
        "Stream %threads=8 on generic:default using builtin",
    ],
)
def test_a_test_has_one_name_in_all_records(name: str):
    assert title(name) == "Stream %threads=8"
