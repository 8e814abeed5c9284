import io

import pytest
from rich.console import Console
from tests.refusals import refused
from tests.report import sample

from fabricheck.report import terminal
from fabricheck.report.load import load
from fabricheck.report.page import render
from fabricheck.report.status import Status
from fabricheck.report.summary import ran_again, summarise

LATENCY = ("latency", "openmpi", "tcp-2n")
BW = ("bw", "openmpi", "tcp-2n")


def only(run, benchmark, environ, placement):
    wanted = (benchmark, environ, placement)
    found = [case for case in run.cases if (case.benchmark, case.environ, case.placement) == wanted]
    assert len(found) == 1
    return found[0]


@pytest.fixture
def changed(write):
    """A case of the record whose fields, or those of one of its samples, are others."""

    def made(case, sample_of=None, **values):
        document = sample.report("bw", "latency")
        entry = sample.find(document, *case)
        (entry["samples"][sample_of] if sample_of else entry).update(values)
        return only(load(write(document)), *case)

    return made


def test_cases_builds_and_session_are_told_apart(write):
    run = load(write(sample.report()))
    assert len(run.cases) == 74
    assert run.failed_builds == ()
    assert run.defects == ()
    assert run.session == sample.SESSION
    assert run.systems == ("testbed",)
    assert run.commits == ("0b0ad8f1",)
    assert run.started == "2026-11-21 05:41:59+00:00"


@pytest.mark.parametrize(
    ("level", "result", "status"),
    [
        ("good", "pass", Status.GOOD),
        ("warning", "pass", Status.WARNING),
        ("critical", "fail", Status.CRITICAL),
        ("untrusted", "fail", Status.UNTRUSTED),
        ("no-reference", "fail", Status.NO_REFERENCE),
        ("critical", "pass", Status.CRITICAL),
        ("good", "fail", Status.FAILED),
        ("warning", "fail", Status.FAILED),
        ("", "fail", Status.FAILED),
        ("", "pass", Status.UNJUDGED),
        ("splendid", "pass", Status.UNJUDGED),
        ("good", "skip", Status.SKIPPED),
        ("good", "abort", Status.ABORTED),
        ("good", "fail_deps", Status.NOT_RUN),
        ("good", "xfail", Status.UNJUDGED),
        ("good", "xpass", Status.UNJUDGED),
        ("good", "<unknown>", Status.UNJUDGED),
    ],
)
def test_status_follows_level_and_result(changed, level, result, status):
    case = changed(BW, level=level, result=result)
    assert case.status is status
    assert bool(case.causes) is (status is not Status.GOOD)


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"value": None}, "1 of 21 values have no figure: bandwidth_avg_1KiB"),
        ({"value": 1.7e308}, "1 of 21 values have no figure: bandwidth_avg_1KiB"),
        ({"level": ""}, "1 of 21 values carry no level: bandwidth_avg_1KiB"),
    ],
)
def test_a_good_case_without_a_figure_or_its_level_is_not_good(changed, values, cause):
    case = changed(BW, "bandwidth_avg_1KiB", **values)
    assert (case.status, case.causes) == (Status.UNJUDGED, (cause,))


@pytest.mark.parametrize(
    ("values", "cause"),
    [({"samples": {}}, "no value at all"), ({"level": ""}, "no level: it was not judged")],
)
def test_a_good_case_without_any_value_or_level_is_not_good(changed, values, cause):
    case = changed(BW, **values)
    assert case.status is Status.UNJUDGED
    assert cause in case.causes[0]


def test_a_good_case_with_a_critical_value_is_critical(changed):
    assert changed(BW, "bandwidth_avg_1KiB", level="critical").status is Status.CRITICAL


def test_a_value_is_judged_once_when_it_is_recorded(changed):
    case = changed(LATENCY, "latency_p50_8B", value=200e3, warning_upper=50e3)
    assert (case.status, case.causes) == (Status.GOOD, ())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("transport", "tcp-\u00b2n"),
        ("nodes", ("n[1-", "[/red]")),
        ("nodes", ("n1", "n" + "9" * 5000)),
        ("evidence", "\ud800"),
        ("findings", ("[/red] \ud800",)),
    ],
)
def test_odd_words_are_shown_as_they_are(write, field, value):
    document = sample.report("latency")
    entry = sample.find(document, *LATENCY)
    entry |= {"level": "critical", "result": "fail", field: value}
    run = load(write(document))
    found = summarise(run)
    terminal.show(run, found, Console(file=io.StringIO(), markup=False), table=True)
    render(run, found).encode()


def test_a_case_that_passed_only_on_a_retry_is_a_warning(write):
    document = sample.with_critical()
    retried = sample.find(sample.report(), *LATENCY)
    document["cases"].append({**retried, "attempt": 2})
    run = load(write(document))
    case = only(run, *LATENCY)
    assert case.status is Status.WARNING
    assert case.causes[0].startswith("attempt 2; earlier: performance error")
    assert len(run.cases) == 74


def test_repeated_cases_are_not_taken_for_retries(write):
    document = sample.report()
    again = dict(sample.find(document, *BW))
    again["id"] += "_repeat_1"
    document["cases"].append(again)
    assert len(load(write(sample.announced(document))).cases) == 75


def test_a_failed_build_is_no_case_but_is_there(write):
    run = load(write(sample.with_failed_build()))
    assert [case.status for case in run.failed_builds] == [Status.BUILD_FAILED]
    assert "mpicxx: command not found" in run.failed_builds[0].causes[0]
    waiting = [case for case in run.cases if case.status is Status.NOT_RUN]
    assert len(waiting) == 37
    assert waiting[0].causes == (f"it needs {run.failed_builds[0].title}, which did not pass",)


def test_what_waits_for_disturbed_cases_alone_is_disturbed(write):
    document = sample.report()
    needed, waiting = (sample.find(document, *case) for case in (LATENCY, BW))
    measured = [dict(needed), {**waiting, "needs": (needed["id"],)}]
    needed.update(level="disturbed", result="fail", findings=("others had the CPUs",))
    waiting.update(sample.UNMEASURED, result="fail_deps", needs=(needed["id"],))
    run = load(write(sample.announced(document)))
    case = only(run, *BW)
    assert case.status is Status.DISTURBED
    assert case.causes == (f"it needs {only(run, *LATENCY).title}, which other work disturbed",)
    document["cases"] += [{**each, "attempt": 2} for each in measured]
    run = load(write(sample.announced(document)))
    assert {only(run, *case).status for case in (LATENCY, BW)} == {Status.GOOD}
    # What was skipped is recorded when the session ends, behind the attempt that followed.
    document["cases"].append(document["cases"].pop(document["cases"].index(waiting)))
    run = load(write(sample.announced(document)))
    assert only(run, *BW).status is Status.GOOD


def test_a_case_that_was_critical_at_first_is_counted(write):
    document = sample.report()
    first = sample.find(document, *LATENCY)
    document["cases"].append({**first, "attempt": 2})
    findings = ("others had the CPUs", "what it gave: too slow")
    first.update(level="disturbed", gave="critical", result="fail", findings=findings)
    run = load(write(sample.announced(document)))
    case = only(run, *LATENCY)
    assert (case.status, case.critical_before) == (Status.GOOD, findings[1:])
    assert "1 critical at first and judged by the second run" in ran_again(run)
    first.update(gave="warning")
    assert "critical" not in ran_again(load(write(sample.announced(document))))


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda d: d["cases"].clear(), "no test case was run"),
        (lambda d: d["cases"].pop(), "lists 75"),
        (lambda d: d["end"].update(announced=80), "announces 80 cases"),
        (lambda d: d["end"].clear(), "no end of the session: it still runs, or was killed"),
        (
            lambda d: d["end"]["info"].update(num_failures=2),
            "counts 2 failures, the record lists 0",
        ),
        (lambda d: d["end"]["info"].update(num_aborted=1), "counts 1 aborted, the record lists 0"),
    ],
)
def test_an_incomplete_record_is_told(write, break_it, words):
    document = sample.report()
    break_it(document)
    run = load(write(document))
    assert words in " ".join(run.defects)
    assert summarise(run).exit_code == 1


def test_a_damaged_line_makes_the_record_incomplete(write):
    perflogs = write(sample.report("barrier"))
    (path,) = (perflogs / "testbed" / "slurm").glob("*.jsonl")
    path.write_text(path.read_text().replace('"value":', '"valve":', 1))
    run = load(perflogs)
    assert len(run.cases) == 7
    assert "damaged" in run.defects[1]
    assert summarise(run).verdict is Status.INCOMPLETE


def at(tmp_path, session, time, cmdline_kind="", **values):
    """A session of one benchmark that ended at a time; a mode of ReFrame tells its kind."""
    document = sample.at(sample.report("barrier"), session, f"{time}T05:44:10+00:00")
    for entry in (*document["cases"], document["end"]):
        entry.update(values)
    if cmdline_kind:
        document["end"]["info"]["kind"] = cmdline_kind
    return document


def test_a_night_is_shown_although_a_stress_and_a_run_came_later(tmp_path):
    night = at(tmp_path, "night", "2026-10-21", "nightly")
    sample.write(night, tmp_path)
    stress = at(tmp_path, "stress", "2026-11-22", check="Stress")
    stress["cases"] = [each for each in stress["cases"] if not each.get("fixture")]
    sample.write({**stress, "end": {}}, tmp_path)
    build = at(tmp_path, "build", "2026-11-22")
    sample.write({"cases": build["cases"][:2], "end": {}}, tmp_path)
    assert (load(tmp_path).session, load(tmp_path).newer) == ("night", ())
    one = at(tmp_path, "one", "2026-11-21")
    sample.write(sample.announced({**one, "cases": one["cases"][2:3]}), tmp_path)
    run = load(tmp_path)
    assert (run.session, run.kind, summarise(run).passed) == ("night", "night", True)
    newer = "newer: run of 1 case on testbed until 2026-11-21 05:44 UTC"
    told = f"night night; {newer} (fabricheck report --session one)"
    assert run.which == told
    console = Console(file=io.StringIO(), width=200)
    terminal.show(run, summarise(run), console, table=False)
    assert told in console.file.getvalue()
    assert told in render(run, summarise(run))
    assert load(tmp_path, "one").which == "run one"
    assert load(tmp_path, "stress").cases


def test_without_a_night_it_is_the_last_run_whether_or_not_it_ended(tmp_path):
    stress = at(tmp_path, "stress", "2026-11-22", check="Stress")
    sample.write({"cases": stress["cases"][2:], "end": {}}, tmp_path)
    with refused("FC0618"):
        load(tmp_path)
    sample.write(at(tmp_path, "located", "2026-11-20", "locate"), tmp_path)
    assert load(tmp_path).session == "located"
    sample.write(at(tmp_path, "first", "2026-09-20"), tmp_path)
    killed = at(tmp_path, "killed", "2026-09-21")
    assert load(tmp_path).session == "first"
    sample.write({**killed, "end": {}}, tmp_path)
    assert load(tmp_path).session == "killed"
    assert summarise(load(tmp_path)).exit_code == 1


def test_the_night_of_a_system_is_asked_for(tmp_path):
    for session, system, day in (("a", "alpha", 20), ("b", "beta", 21)):
        sample.write(at(tmp_path, session, f"2026-11-{day}", "nightly", system=system), tmp_path)
    asked = ("", "alpha", "beta")
    assert [load(tmp_path, system=each).session for each in asked] == ["b", "a", "b"]
    assert load(tmp_path, "a").session == "a"
    with refused("FC0618", "expected a session of gamma in the record"):
        load(tmp_path, system="gamma")
    with refused("FC0617", "expected session 'none' in the record"):
        load(tmp_path, "none")
