import json

import pytest
from tests.report import sample

from fabricheck.cli.report import as_json
from fabricheck.report.load import load
from fabricheck.report.status import Status
from fabricheck.report.summary import reference_legend, summarise


@pytest.mark.parametrize(
    ("variant", "verdict", "code"),
    [
        ("good", Status.GOOD, 0),
        ("warning", Status.WARNING, 0),
        ("critical", Status.CRITICAL, 1),
        ("untrusted", Status.UNTRUSTED, 1),
        ("no-reference", Status.NO_REFERENCE, 1),
        ("node-failure", Status.FAILED, 1),
        ("aborted", Status.ABORTED, 1),
        ("failed-build", Status.BUILD_FAILED, 1),
        ("everything", Status.FAILED, 1),
    ],
)
def test_verdict_and_exit_code(judged, variant, verdict, code):
    _, summary = judged(sample.VARIANTS[variant]())
    assert (summary.verdict, summary.exit_code) == (verdict, code)


def test_counts_name_every_level_and_add_up(judged):
    run, summary = judged(sample.with_everything())
    assert sum(summary.counts.values()) == len(run.cases)
    assert summary.counts[Status.UNTRUSTED] == 1
    assert summary.counts[Status.NOT_RUN] == 0


def without_cases(document):
    document.update(sample.run_of([]))


def all_skipped(document):
    for entry in document["cases"]:
        entry["result"] = "pass" if entry.get("fixture") else "skip"


@pytest.mark.parametrize(
    ("break_it", "cause"),
    [
        (without_cases, "no test case was run"),
        (all_skipped, "none of the 74 cases was judged"),
        (lambda document: document["cases"].pop(), "the record is incomplete"),
    ],
)
def test_a_run_that_measured_nothing_or_lost_a_case_is_red(judged, break_it, cause):
    document = sample.report()
    break_it(document)
    _, summary = judged(document)
    assert (summary.verdict, summary.exit_code) == (Status.INCOMPLETE, 1)
    assert cause in summary.problems[0].causes[0]


def test_a_skipped_case_is_told_but_does_not_fail_the_run(judged):
    document = sample.report()
    sample.find(document, "bw", "openmpi", "tcp-2n").update(result="skip", fail_reason="no cores")
    _, summary = judged(document)
    assert summary.exit_code == 0
    assert summary.counts[Status.SKIPPED] == 1
    assert summary.problems[0].causes == ("no cores",)


def test_cases_with_the_same_cause_are_one_problem(judged):
    _, summary = judged(sample.with_failed_build())
    assert [problem.status for problem in summary.problems] == [Status.BUILD_FAILED, Status.NOT_RUN]
    assert summary.problems[1].subject == "latency mpich shm-1n and 36 others"


def test_bounds_and_ratios_are_called_what_they_are_and_measured_references_need_no_warning(judged):
    document = sample.report()
    bound, ratio = reference_legend(judged(document)[0])
    assert bound.startswith("bound (72 of 74 cases): absurdity bound, not a performance reference")
    assert ratio.startswith("ratio (2 of 74 cases): ratio taken in one run, not a performance")
    for entry in document["cases"]:
        entry["reference_kind"] = "measured"
    assert reference_legend(judged(document)[0]) == ()


def test_the_summary_for_machines_is_strict_json(write):
    document = sample.with_untrusted()
    entry = sample.find(document, "latency", "mpich", "shm-1n")
    entry["samples"]["latency_avg_1B"]["value"] = float("nan")
    run = load(write(document))
    found = json.loads(json.dumps(as_json(run, summarise(run)), allow_nan=False))
    assert found["verdict"] == "not judged"
    assert found["passed"] is False
    assert len(found["cases"]) == 74
    assert found["counts"]["untrusted"] == 1
    case = next(case for case in found["cases"] if case["benchmark"] == "bw")
    assert case["values"]["bandwidth_avg_8B"]["unit"] == "MB/s"
