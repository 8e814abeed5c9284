"""The page of a run that has a history."""

import dataclasses
import json
import re

import numpy as np
import pytest
from tests.report import nights, sample
from tests.report.test_page import section, unpacked, words

from fabricheck.report.load import load
from fabricheck.report.offline import outside_resources
from fabricheck.report.page import render
from fabricheck.report.summary import summarise

pytestmark = pytest.mark.integration

SERIES = 500
LIMIT = 1_500_000


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    document = sample.only(sample.with_everything(), "latency", "barrier")
    run = load(sample.write(document, tmp_path_factory.mktemp("page")))
    past = nights.past_of(run, nights.series_of(run, factor=nights.slower_over_tcp))
    return render(run, summarise(run), past)


def rows_of(index):
    """What the explorer knows of each series; the page has it by columns."""
    return [list(row) for row in zip(*index["columns"], strict=True)]


def test_both_verdicts_come_first_and_nothing_is_loaded(page):
    text = words(page.split("<body>")[1])
    assert text.index("† Failed") < text.index("▼ Worse than before : ")
    assert text.index("Worse than before") < text.index("What is wrong What changed Matrix")
    assert outside_resources(page) == []


def test_a_run_without_history_says_that_it_was_compared_with_nothing(judged):
    html = render(*judged(sample.report("barrier")))
    assert "? Not compared with earlier nights: there is no history" in words(html)
    assert "explorer" not in re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)


def test_a_regression_makes_a_good_run_red(judged):
    run, summary = judged(sample.report("latency"))
    past = nights.past_of(run, nights.series_of(run, factor=nights.slower_over_tcp))
    assert '<header class="red">' in render(run, summary, past)
    assert '<header class="green">' in render(run, summary)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("changed", "▼ new regression on testbed +2"),
        ("changed", "Since 2026-11-18 05:46 on openmpi"),
        ("changed", "84 of 84 series"),
        ("changed", "openmpi latency tcp-2n p50"),
        ("changed", "And 72 more: "),
        ("changed", "Nothing that is recorded with a session differs since then."),
        ("matrix", "Trend: 60 nights, level 7."),
        ("matrix", "new regression since 2026-11-18 05:46"),
    ],
)
def test_events_and_sparklines_say_since_when_by_how_much_and_on_what(page, part, told):
    assert told in section(page, part)


def test_what_nobody_measures_any_more_has_changed(judged):
    run, summary = judged(sample.report("latency"))
    past = nights.past_of(run, nights.series_of(run))
    nothing = "Nothing in the last 30 days"
    assert nothing in section(render(run, summary, past), "changed")
    for count, told in ((2, "No value of tcp 1 any more"), (14, "Nor of 2 others: ")):
        lost = tuple(f"tcp {number}" for number in range(count))
        silent = dataclasses.replace(past, trend=dataclasses.replace(past.trend, lost=lost))
        found = section(render(run, summary, silent), "changed")
        assert told in found
        assert nothing not in found


def test_more_than_three_events_are_folded(judged):
    run, summary = judged(sample.report("latency"))
    past = nights.past_of(run, nights.series_of(run, factor=nights.slower_over_tcp))
    several = dataclasses.replace(past, events=past.events * 5, differences=past.differences * 5)
    html = render(run, summary, several)
    assert "<summary>2 more events</summary>" in html
    assert "<details>\n<summary>1 more" not in render(run, summary, past)
    assert html.count("<ol") == html.count("</ol>")


def test_an_event_lists_what_differs_the_most_telling_first(judged, tmp_path):
    run, summary = judged(sample.report("latency"))
    series = nights.series_of(run, factor=nights.slower_over_tcp)
    past = nights.recorded(run, series, tmp_path, upgraded=4)
    text = section(render(run, summary, past), "changed")
    ucx, kernel = text.index("ucx 1.18.1 1.19.0"), text.index("kernel 6.1.0-28 6.1.0-31")
    assert ucx < kernel
    assert "84 of 84" in text[ucx:kernel]


def test_key_figures_over_the_nights_need_no_script(page):
    text = section(page, "trends")
    assert re.search(r"latency openmpi tcp-2n latency p50 at 8 B 60 \S+ \S+ 7\.\d+ µs", text)


def test_every_link_leads_to_a_series_of_the_drill_down(page):
    numbers = {int(number) for number in re.findall(r'data-row="(\d+)"', page)}
    rows = rows_of(json.loads(unpacked(page, "explorer-index")))
    assert len(numbers) > 5
    assert max(numbers) < len(rows)
    anchors = set(re.findall(r'\bid="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors


def test_the_drill_down_has_levels_changes_and_bounds(page):
    index = json.loads(unpacked(page, "explorer-index"))
    row = next(
        row for row in rows_of(index)
        if index["cases"][row[0]][1].startswith("latency openmpi tcp-2n")
        and row[1:4] == ["latency", "p50", 8]
    )  # fmt: skip
    assert [levels[:2] for levels in row[7]] == [[0, 55], [56, 59]]
    assert row[8][0] == 20.0
    assert row[9][0][:3] == [56, "regression", "new"]
    steps = np.frombuffer(unpacked(page, "explorer-values"), np.uint8)
    assert len(steps) == 2 * len(rows_of(index)) * len(index["times"])


def test_cases_of_earlier_nights_are_missed(judged):
    run, _ = judged(sample.report("latency", "barrier"))
    past = nights.past_of(run, nights.series_of(run, nights=15))
    text = section(render(*judged(sample.report("latency")), past), "not-measured")
    assert "barrier mpich tcp-4n (testbed:slurm) 2026-11-21 05:46 15 not part of this run" in text


def test_what_is_not_due_is_told_and_missed_by_nobody(judged):
    run, _ = judged(sample.report("latency", "barrier"))
    past = nights.past_of(run, nights.series_of(run, nights=15))
    names = ("system", "partition", "environ", "check", "benchmark", "placement")
    resting = tuple(
        {name: getattr(case, name) for name in names}
        | {"state": "not due", "why": "within 3 nights"}
        for case in run.cases
        if case.benchmark == "barrier"
    )
    run, summary = judged(sample.report("latency"))
    run = dataclasses.replace(run, resting=resting)
    html = render(run, summary, past)
    text = section(html, "not-measured")
    assert f"Not due tonight: {len(resting)} cases" in text
    assert "barrier mpich tcp-4n (testbed:slurm) within 3 nights" in text
    assert "not part of this run" not in text
    assert "no such case in this run, or not due tonight." in section(html, "matrix")
    assert summary.passed


def test_an_empty_history_makes_a_page(judged):
    run, summary = judged(sample.report("barrier"))
    html = render(run, summary, nights.past_of(run, []))
    assert "? Unknown : the history has no series of this system" in words(html)
    assert outside_resources(html) == []


# For its weight: a third of what all unit tests take together.
@pytest.mark.integration
def test_a_page_of_500_series_stays_below_the_limit(judged, monkeypatch):
    for name in ("mpich5", "mvapich2", "openmpi5"):
        monkeypatch.setitem(sample.ENVIRONS, name, ("MPICH", "5", 1.1))
    document = sample.report()
    for environ in ("mpich", "openmpi"):
        document["cases"] += [
            {**sample.find(document, "latency", environ, place), "partition": "second"}
            for place in ("shm-1n", "tcp-2n")
        ]
    run, summary = judged(document)
    series = nights.series_of(run, nights=120, factor=nights.slower_over_tcp)
    names = {dataclasses.replace(each.key, size=None) for each in series}
    assert len(names) >= SERIES
    assert len(series) > 18 * SERIES
    html = render(run, summary, nights.past_of(run, series))
    assert len(html.encode()) < LIMIT
    assert "older ones are in the history only" in section(html, "trends")
