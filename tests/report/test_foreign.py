"""The page of another suite's log: nothing on it is taken for a verdict, or for another case."""

import json
import re
from pathlib import Path

import pytest
from tests.history.recorded import NOW, read
from tests.report.test_page import section, unpacked

from fabricheck.record.imports import import_all
from fabricheck.report.headline import headline
from fabricheck.report.history_view import read_history_view
from fabricheck.report.load import load
from fabricheck.report.page import render
from fabricheck.report.past import history_verdict
from fabricheck.report.run import ReportedRun
from fabricheck.report.summary import summarise

LINE = (
    "2020-09-{day}T03:04:05+00:00|reframe 3.2|{test} on their:ib-gcc9-openmpi4-ucx using omb|"
    "jobid={day}|{figure}|ref=0 (l=None, u=None)|{tags}\n"
)
CASES = {
    "Osu_latency": ("min_latency=1.02|us", "latency,procs_per_node=1"),
    "Osu_mbw_mr_4": ("max_bandwidth=12393|MB/s", "mbw_mr,procs_per_node=4"),
    "Osu_mbw_mr_8": ("max_bandwidth=12069|MB/s", "mbw_mr,procs_per_node=8"),
}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    for test, (figure, tags) in CASES.items():
        told = {"test": test, "figure": figure, "tags": tags}
        lines = "".join(LINE.format(day=day, **told) for day in (11, 12, 13))
        (logs / f"{test}.log").write_text(lines)
    import_all([logs], tmp_path / "record", mappings=["excalibur-tests"])
    return tmp_path / "record"


@pytest.fixture
def run(record: Path) -> ReportedRun:
    return load(record, "imported-2020-09-12")


def test_a_figure_of_all_sizes_says_so_and_has_no_level(run: ReportedRun) -> None:
    page = render(run, summarise(run))
    matrix = section(page, "matrix")
    assert "1.02 µs min □ not judged" in matrix
    assert "12.4 GB/s max □ not judged, one of 2" in matrix
    assert 'class="bad"' not in page
    curves = section(page, "curves")
    assert "no level" not in curves
    assert "no size" in curves


def test_cases_that_differ_in_ranks_are_told_apart(run: ReportedRun) -> None:
    found = section(render(run, summarise(run)), "curves")
    assert "omb, Osu_mbw_mr_4: not judged" in found
    assert "omb, Osu_mbw_mr_8: not judged" in found
    assert "omb: not judged" in found


def test_a_day_is_in_the_history_with_what_was_before(run: ReportedRun, record: Path) -> None:
    store = record.parent / "store"
    read(store, record, now=NOW.replace(year=2027))
    past = read_history_view(store, run, (), ())
    assert "not in the history" not in history_verdict(past).sentence
    assert {len(each) for each in past.series} == {2}
    index = json.loads(unpacked(render(run, summarise(run), past), "explorer-index"))
    titles = [title for _, title in index["cases"]]
    assert len({*titles}) == len(titles) == len(CASES)
    assert any(re.search(r"mbw_mr.*, Osu_mbw_mr_8$", title) for title in titles)


def test_what_is_next_is_no_search_for_a_layer(run: ReportedRun) -> None:
    assert "fabricheck accept" in headline(run, summarise(run)).next
    assert run.began == "2020-09-12 03:04 UTC"
