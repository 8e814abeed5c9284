import dataclasses

import numpy as np
import pytest
from tests.refusals import refused
from tests.report import nights, sample

from fabricheck.record.resting import FIELDS, NOT_DUE
from fabricheck.report.history_view import read_history_view
from fabricheck.report.load import load
from fabricheck.report.past import (
    changes_of,
    event_views,
    history_verdict,
    missing,
    remarks,
    segments,
    sparklines,
)
from fabricheck.trend.events import EventState


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    document = sample.report("latency")
    for entry in document["cases"]:
        entry["samples"] = dict(list(entry["samples"].items())[:16])
    return load(sample.write(document, tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def slower(run):
    return nights.past_of(run, nights.series_of(run, factor=nights.slower_over_tcp))


def test_the_history_of_the_runs_systems_is_read(run, tmp_path):
    series = nights.series_of(run, factor=nights.slower_over_tcp)
    past = nights.recorded(run, series, tmp_path)
    assert len(past.series) == len(series)
    assert past.trend.exit_code == 1
    assert [event.state for event in past.events] == [EventState.NEW]
    assert len(past.differences) == 1
    assert not past.holds_run


def test_a_run_that_is_in_the_history_is_known(run, tmp_path):
    series = nights.series_of(run)
    run = dataclasses.replace(run, session=nights.SESSION.format(59))
    assert nights.recorded(run, series, tmp_path).holds_run


def test_what_came_after_the_run_is_not_read(run, tmp_path):
    series = nights.series_of(run)
    earlier = dataclasses.replace(run, info={"time_end": "20261110T000000+0000"})
    past = nights.recorded(run, series, tmp_path)
    before = read_history_view(tmp_path / "history", earlier, [tmp_path], [tmp_path])
    assert str(past.trend.newest) == "2026-11-21T05:46:21"
    assert str(before.trend.newest) == "2026-11-09T05:46:21"


def test_lines_with_problems_are_counted(run, tmp_path):
    series = nights.series_of(run, nights=15)
    nights.write_perflog(series, tmp_path / "nights" / "more")
    assert nights.recorded(run, series, tmp_path).lines == {
        "duplicate": sum(len(each) for each in series)
    }


def test_no_history_is_told(run, tmp_path):
    with refused("FC0601"):
        read_history_view(tmp_path / "none", run, [tmp_path], [tmp_path])


@pytest.mark.parametrize(
    ("nights_of", "word", "color", "begins"),
    [
        (
            {"factor": nights.slower_over_tcp},
            "Worse than before",
            "red",
            "1 new regression; newest",
        ),
        # One that nobody accepted is never steady.
        (
            {"factor": nights.slower_over_tcp, "recent": 25},
            *("Worse than before", "red", "1 open regression; newest value"),
        ),
        ({}, "Steady", "green", ""),
        ({"nights": 6}, "Not judged", "magenta", ""),
    ],
)
def test_the_verdict_is_green_only_for_steady_nights(run, nights_of, word, color, begins):
    verdict = history_verdict(nights.past_of(run, nights.series_of(run, **nights_of)))
    assert (verdict.word, verdict.color) == (word, color)
    assert verdict.sentence.startswith(begins)
    few = "none of 68 series has enough nights" in verdict.sentence
    assert few == (word == "Not judged")


def test_what_a_stress_measured_is_no_night_of_the_case(run):
    own = nights.series_of(run)
    stress = [
        dataclasses.replace(
            each, key=dataclasses.replace(each.key, check="Stress"), values=40 * each.values
        )
        for each in own
    ]
    alone, both = (nights.past_of(run, series) for series in (own, [*own, *stress]))
    assert sparklines(run, both, {}) == sparklines(run, alone, {})
    assert missing(dataclasses.replace(run, cases=()), nights.past_of(run, stress)) == []


def test_an_empty_history_is_never_green(run):
    assert history_verdict(nights.past_of(run, [])).word == "Unknown"


def test_an_event_names_its_series_and_their_place(slower):
    places = {each.key: number for number, each in enumerate(slower.series)}
    (view,) = event_views(slower, places)
    assert (view.event.state, view.event.kind, view.color) == ("new", "regression", "red")
    assert slower.series[view.row].key.environ == "openmpi"


def test_levels_are_those_between_the_changes(slower):
    changes = changes_of(slower.events)
    each = next(s for s in slower.series if s.key in changes)
    before, after = segments(each, changes[each.key])
    assert (before.start, before.end, after.end) == (0, 56, 60)
    assert before.level < before.high < after.low < after.level
    assert np.mean((each.values[:56] >= before.low) & (each.values[:56] <= before.high)) > 0.85


def test_a_case_has_the_course_of_its_first_figure(run, slower):
    found = sparklines(run, slower, {})
    hit = next(c for c in run.cases if c.title == "latency openmpi tcp-2n")
    sparkline = found[id(hit)]
    assert sparkline.figure == "latency p50 at 8 B"
    assert (len(sparkline.before), len(sparkline.after), sparkline.color) == (20, 4, "red")
    assert sparkline.change.startswith("new regression since 2026-11-18 05:46: +2")
    quiet = next(c for c in run.cases if c.title == "latency mpich tcp-2n")
    assert (len(found[id(quiet)].before), found[id(quiet)].after) == (24, "")


def test_what_was_measured_before_and_not_now_is_missing(run, slower):
    gone = dataclasses.replace(run, cases=run.cases[1:])
    (one,) = missing(gone, slower)
    assert one.case == f"{run.cases[0].title} (testbed:slurm)"
    assert (one.last, one.why) == ("2026-11-21 05:46", "not part of this run")
    assert missing(run, slower) == []


def test_what_is_not_due_is_not_missing_and_what_is_overdue_is(run, slower):
    case = run.cases[0]
    rests = {
        **{name: getattr(case, name) for name in FIELDS if hasattr(case, name)},
        "state": NOT_DUE, "why": "measured 2 nights ago, runs within 5 nights",
    }  # fmt: skip
    gone = dataclasses.replace(run, cases=run.cases[1:], resting=(rests,))
    assert missing(gone, slower) == []
    late = {**rests, "state": "overdue", "why": "measured 9 nights ago"}
    (one,) = missing(dataclasses.replace(gone, resting=(late,)), slower)
    assert one.why == "overdue: measured 9 nights ago"
    # It is not what hides another case that is not there.
    other = {**rests, "environ": "another"}
    assert len(missing(dataclasses.replace(gone, resting=(other,)), slower)) == 1


def test_a_case_without_values_tells_why(judged, slower):
    document = sample.report("latency")
    entry = sample.find(document, "latency", "mpich", "tcp-2n")
    entry.update(result="skip", level="", samples={}, fail_reason="no port")
    run, _ = judged(document)
    assert [each.why for each in missing(run, slower)] == ["skipped: no port"]


def test_remarks_say_what_was_not_judged(run):
    past = nights.past_of(run, nights.series_of(run, nights=6), holds_run=False)
    past = dataclasses.replace(past, lines={"cut": 2, "future": 1})
    text = " ".join(remarks(past))
    assert "This run is not in the history" in text
    assert "68 of 68 series have too few nights" in text
    assert "2 cut, 1 future" in text
