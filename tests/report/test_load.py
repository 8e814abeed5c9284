import io
import json
import math
import os

import pytest
from rich.console import Console
from tests.report import sample

from fabricheck.errors import FabricheckError
from fabricheck.report import terminal
from fabricheck.report.load import load, newest_report
from fabricheck.report.page import render
from fabricheck.report.status import Status
from fabricheck.report.summary import summarise


def only(run, benchmark, environ, placement):
    found = [
        case
        for case in run.cases
        if (case.benchmark, case.environ, case.placement) == (benchmark, environ, placement)
    ]
    assert len(found) == 1
    return found[0]


def test_cases_builds_and_session_are_told_apart(write):
    run = load(write(sample.report()))
    assert len(run.cases) == 74
    assert run.failed_builds == ()
    assert run.defects == ()
    assert run.systems == ("testbed",)
    assert run.commits == ("0b0ad8f1",)
    assert run.started == "2026-11-21 05:41:59+00:00"


def test_bounds_are_made_absolute_as_reframe_does(write):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry["perfvalues"]["testbed:slurm:latency_p50_8B"][1:4] = [20.0, -0.5, 4.0]
    entry["perfvalues"]["testbed:slurm:latency_p50_16B"][1:4] = [0, -3.0, 9.0]
    case = only(load(write(document)), "latency", "openmpi", "tcp-2n")
    eight, sixteen = case.find("latency", "p50", 8), case.find("latency", "p50", 16)
    assert (eight.lower, eight.upper) == (10.0, 100.0)
    assert (sixteen.lower, sixteen.upper) == (-3.0, 9.0)
    assert eight.warning_upper == 20000.0


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
        (None, "pass", Status.UNJUDGED),
        ("<undefined>", "pass", Status.UNJUDGED),
        ("splendid", "pass", Status.UNJUDGED),
        ("good", "skip", Status.SKIPPED),
        ("good", "abort", Status.ABORTED),
        ("good", "fail_deps", Status.NOT_RUN),
        ("good", "xfail", Status.UNJUDGED),
        ("good", "xpass", Status.UNJUDGED),
        ("good", "<unknown>", Status.UNJUDGED),
    ],
)
def test_status_follows_level_and_result(write, level, result, status):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "bw", "openmpi", "tcp-2n")
    entry.update(level=level, result=result)
    case = only(load(write(document)), "bw", "openmpi", "tcp-2n")
    assert case.status is status
    assert bool(case.causes) is (status is not Status.GOOD)


def test_a_case_without_the_key_level_is_not_judged(write):
    document = sample.report("bw", "latency")
    del sample.find(document, "bw", "openmpi", "tcp-2n")["level"]
    case = only(load(write(document)), "bw", "openmpi", "tcp-2n")
    assert case.status is Status.UNJUDGED
    assert "no level" in case.causes[0]


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_good_case_without_all_figures_is_not_good(write, value):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "bw", "openmpi", "tcp-2n")
    entry["perfvalues"]["testbed:slurm:bandwidth_avg_1KiB"][0] = value
    case = only(load(write(document)), "bw", "openmpi", "tcp-2n")
    assert case.status is Status.UNJUDGED
    assert case.causes == ("1 of 21 values have no figure: bandwidth_avg_1KiB",)


def test_a_good_case_without_any_value_is_not_good(write):
    document = sample.report("bw", "latency")
    sample.find(document, "bw", "openmpi", "tcp-2n")["perfvalues"] = {}
    case = only(load(write(document)), "bw", "openmpi", "tcp-2n")
    assert case.status is Status.UNJUDGED
    assert "no value at all" in case.causes[0]


def test_a_good_case_with_a_value_without_level_is_not_good(write):
    document = sample.report("bw", "latency")
    del sample.find(document, "bw", "openmpi", "tcp-2n")["levels"]["bandwidth_avg_1KiB"]
    case = only(load(write(document)), "bw", "openmpi", "tcp-2n")
    assert case.status is Status.UNJUDGED
    assert "carry no level: bandwidth_avg_1KiB" in case.causes[0]


def test_a_good_case_with_a_critical_value_is_critical(write):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "bw", "openmpi", "tcp-2n")
    entry["levels"]["bandwidth_avg_1KiB"] = "critical"
    assert only(load(write(document)), "bw", "openmpi", "tcp-2n").status is Status.CRITICAL


@pytest.mark.parametrize(
    ("value", "status"),
    [(200e3, Status.CRITICAL), (60e3, Status.WARNING), (1.7e308, Status.UNJUDGED)],
)
def test_a_value_outside_its_own_bounds_is_not_good_whatever_its_level(write, value, status):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry["warning_bounds"]["latency_p50_8B"] = [None, 50e3]
    entry["perfvalues"]["testbed:slurm:latency_p50_8B"][0] = value
    assert only(load(write(document)), "latency", "openmpi", "tcp-2n").status is status


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.5, 1), (-0.5, -0.5), (math.nan, 0.1), (-2, 1), (-0.5, math.nan)]
)
def test_thresholds_that_reframe_refuses_judge_nothing(write, lower, upper):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry["perfvalues"]["testbed:slurm:latency_p50_8B"][2:4] = [lower, upper]
    case = only(load(write(document)), "latency", "openmpi", "tcp-2n")
    assert case.status is Status.UNJUDGED


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fabric_causes", "n1"),
        ("dependencies_actual", [[["x"], 0, "mpich"]]),
        ("outputdir", ["x"]),
        ("placement", {"tcp": 2}),
    ],
)
def test_a_field_of_another_type_is_refused_with_its_place(write, field, value):
    document = sample.report("latency")
    sample.find(document, "latency", "openmpi", "tcp-2n")[field] = value
    with pytest.raises(FabricheckError, match=rf"testcases\[\d+\]\.{field}"):
        load(write(document))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("placement", "tcp-\u00b2n"),
        ("placement", f"tcp-{'9' * 5000}n"),
        ("node_list", ["n[1-", "[/red]"]),
        ("node_list", ["n1", "n" + "9" * 5000]),
        ("evidence", "\ud800"),
        ("findings", ["[/red] \ud800"]),
    ],
)
def test_odd_words_are_shown_as_they_are(write, field, value):
    document = sample.report("latency")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry |= {"level": "critical", "result": "fail", field: value}
    run = load(write(document))
    found = summarise(run)
    terminal.show(run, found, Console(file=io.StringIO(), markup=False), table=True)
    render(run, found).encode()


def test_a_value_that_reframe_failed_is_critical_whatever_its_level(write):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry["perfvalues"]["testbed:slurm:latency_p50_8B"][0] = 2e5
    entry["perfvalues"]["testbed:slurm:latency_p50_8B"][5] = "fail"
    case = only(load(write(document)), "latency", "openmpi", "tcp-2n")
    assert case.status is Status.CRITICAL
    assert case.causes == ("latency_p50_8B is 200 ms, above the critical bound 100 ms",)


def test_a_case_that_passed_only_on_a_retry_is_a_warning(write):
    document = sample.with_critical()
    retried = sample.find(sample.report(), "latency", "openmpi", "tcp-2n")
    document["runs"].append({"num_cases": 1, "num_failures": 0, "testcases": [retried]})
    run = load(write(document))
    case = only(run, "latency", "openmpi", "tcp-2n")
    assert case.status is Status.WARNING
    assert case.causes[0].startswith("attempt 2; earlier: performance error")
    assert len(run.cases) == 74


def test_repeated_cases_are_not_taken_for_retries(write):
    document = sample.report()
    again = dict(sample.find(document, "bw", "openmpi", "tcp-2n"))
    again["unique_name"] += "_repeat_1"
    document["runs"][0]["testcases"].append(again)
    document["runs"][0]["num_cases"] = document["session_info"]["num_cases"] = 77
    assert len(load(write(document)).cases) == 75


def test_a_failed_build_is_no_case_but_is_there(write):
    run = load(write(sample.with_failed_build()))
    assert [case.status for case in run.failed_builds] == [Status.BUILD_FAILED]
    assert "mpicxx: command not found" in run.failed_builds[0].causes[0]
    assert sum(case.status is Status.NOT_RUN for case in run.cases) == 37


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda d: d["runs"].clear(), "holds no run"),
        (lambda d: d["runs"][0]["testcases"].pop(), "lists 75"),
        (
            lambda d: d["session_info"].update(num_cases=80),
            "announces 80 cases",
        ),
        (lambda d: d["runs"][0].update(num_failures=2), "counts 2 failures, the record lists 0"),
        (lambda d: d["runs"][0].update(num_aborted=1), "counts 1 aborted, the record lists 0"),
    ],
)
def test_an_incomplete_record_is_told(write, break_it, words):
    document = sample.report()
    break_it(document)
    assert words in " ".join(load(write(document)).defects)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expecting value at line 1"),
        ('{"session_info": {', "the file is cut or damaged"),
        ("[1, 2]", "not of type 'object'"),
        ('{"runs": []}', "'session_info' is a required property"),
        ('{"session_info": {"num_cases": "many"}, "runs": []}', "$.session_info.num_cases"),
        (
            '{"session_info": {"num_cases": 1}, "runs": [{"num_cases": 1, "testcases": [7]}]}',
            "$.runs[0].testcases[0]",
        ),
        ("[" * 30000, "found deep nesting"),
        (f'{{"runs": {"9" * 5000}}}', "found a number of thousands of digits"),
    ],
)
def test_what_is_no_run_report_is_refused_in_one_sentence(tmp_path, text, words):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FabricheckError) as caught:
        load(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_perfvalues_of_another_form_are_refused(write):
    document = sample.report("bw", "latency")
    entry = sample.find(document, "bw", "openmpi", "tcp-2n")
    entry["perfvalues"]["testbed:slurm:bandwidth_avg_8B"] = [1.0, "MB/s"]
    with pytest.raises(FabricheckError, match="perfvalues"):
        load(write(document))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(FabricheckError, match="UTF-8"):
        load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FabricheckError, match="No such file"):
        load(tmp_path / "none.json")


def test_the_newest_report_is_found(tmp_path):
    for number, name in enumerate(["b.json", "a.json", "page.html"]):
        (tmp_path / name).write_text("{}")
        os.utime(tmp_path / name, (number, number))
    assert newest_report(tmp_path).name == "a.json"


def test_no_report_to_find_is_told(tmp_path):
    with pytest.raises(FabricheckError, match="found none: run the checks first"):
        newest_report(tmp_path / "reports")


def test_the_variants_are_json_as_reframe_writes_it():
    for make in sample.VARIANTS.values():
        assert json.loads(json.dumps(make())) == make()
