"""What ReFrame says of cases, as it logs them, and as its run reports and databases keep them."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import Case, Sample
from fabricheck.record.read import read_session
from fabricheck.record.reframe_report import (
    ODD,
    case_of,
    complete,
    read_report,
    run_of_report,
)
from fabricheck.record.write import append

ENTRY: dict[str, Any] = {
    "name": "MpiCollective %benchmark=allreduce %placement=rc-4n-full",
    "display_name": "MpiCollective %benchmark=allreduce %placement=rc-4n-full",
    "unique_name": "MpiCollective_3",
    "system": "testbed",
    "partition": "main",
    "environ": "openmpi",
    "benchmark": "allreduce",
    "transport": "rc",
    "placement": "rc-4n-full",
    "num_nodes": 4,
    "num_tasks": 256,
    "result": "fail",
    "level": "critical",
    "levels": {"latency_p50_8B": "critical"},
    "warning_bounds": {"latency_p50_8B": [None, 12.0]},
    "findings": ["too slow"],
    "session": "s1",
    "jobid": 17,
    "job_completion_time_unix": 1763700000.5,
    "node_list": ["n1", "None"],
    "perfvalues": {"testbed:main:latency_p50_8B": [50.0, 10.0, None, 0.5, "us", "fail"]},
    "dependencies_actual": [["Build_1", "testbed:main", "openmpi"]],
    "stagedir": "/stage",
}
FOREIGN = {
    **{each: ENTRY[each] for each in ("system", "partition", "environ", "result", "jobid")},
    "name": "Stream %.repeat_no=3 %threads=4 /abc @hpc:cpu+gnu",
    "job_completion_time_unix": 1763700000,
    "job_nodelist": ["n1", "n2"],
    "num_tasks": 0,
    "perfvalues": {"hpc:cpu:triad": [50.0, 0, 0, None, "GB/s"]},
}


def built(**changes: Any) -> Case:
    return case_of({**ENTRY, **changes}, "uuid", "2026-01-01T00:00:00+00:00")


def report(path: Path, *runs: list[dict[str, Any]], announced: int = 1) -> Path:
    info = {"uuid": "u1", "num_cases": announced, "time_end_unix": 1763700100, "kind": "before"}
    path.write_text(
        json.dumps({"session_info": info, "runs": [{"testcases": each} for each in runs]})
    )
    return path


def test_a_case_of_the_suite() -> None:
    case = built()
    assert (case.transport, case.num_nodes, case.layout) == ("rc", 4, "full")
    assert (case.ranks, case.ranks_per_node, case.job, case.nodes) == (256, 64, "17", ("n1",))
    assert (case.check, case.needs, case.output) == ("MpiCollective", ("Build_1",), "/stage")
    assert case.samples == (
        Sample(
            metric="latency", statistic="p50", size=8, value=50, unit="us", level="critical",
            reference=10, upper=15, warning_upper=12,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "\n", " ", " @here", " %.repeat_no=3"])
def test_a_case_without_a_name_has_one(name: str) -> None:
    case = case_of({**FOREIGN, "name": name, "display_name": ""}, "uuid", "")
    assert (case.check, case.benchmark, case.name) == ("unnamed", "unnamed check", "unnamed check")


def test_a_case_of_another_suite_is_named_by_its_parameters() -> None:
    case = case_of(FOREIGN, "uuid", "")
    assert (case.benchmark, case.repeat, case.session) == ("Stream %threads=4", 3, "uuid")
    assert (case.num_nodes, case.transport, case.samples[0].metric) == (2, "", "triad")
    # A reference of 0 takes thresholds as they are, and one below 0 has its lower bound below it.
    below = {**FOREIGN, "perfvalues": {"x": [-9.0, -10.0, -0.1, 0.2, "C", "pass"]}}
    (sample,) = case_of(below, "uuid", "").samples
    assert (sample.lower, sample.upper) == (-11.0, -8.0)
    assert (case.samples[0].lower, case.samples[0].upper) == (0, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"partition": None},
        {"num_nodes": -1},
        {"num_nodes": True},
        {"jobid": 1.5},
        {"findings": "x"},
        {"job_completion_time_unix": 5},
        {"job_completion_time_unix": 1e300},
        {"perfvalues": {"latency_p50_8B": [1, 2]}},
        {"perfvalues": {"latency_p50_8B": [-1, None, None, None, "us", "pass"]}},
        {"perfvalues": {"latency_p50_8B": [float("nan"), None, None, None, "us", "pass"]}},
        {"perfvalues": {"nonsense": [1, None, None, None, "us", "pass"]}},
        {"levels": ["x"]},
    ],
    ids=str,
)
def test_an_entry_that_is_none_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((*ODD, FabricheckError)):
        built(**changes)


def test_a_damaged_case_of_a_report_costs_only_itself(tmp_path: Path) -> None:
    entries, problems = read_report(
        report(tmp_path / "r.json", [ENTRY, {**ENTRY, "num_nodes": "two"}])
    )
    assert len(entries) == 2
    assert "case 2" in problems[0].detail


@pytest.mark.parametrize("text", ["", "[]", '{"runs": []}', "{" * 100000, '{"session_info": 1}'])
def test_what_is_no_report_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(FabricheckError, match="expected a ReFrame run report"):
        read_report(tmp_path / "r.json")


def test_a_report_completes_the_record_once(tmp_path: Path) -> None:
    skipped = {**ENTRY, "unique_name": "X", "result": "skip", "perfvalues": {}, "system": None}
    skipped.update(job_completion_time_unix=None, session="<undefined>")
    path = report(tmp_path / "r.json", [ENTRY, skipped], [ENTRY], announced=2)
    perflogs = tmp_path / "perflogs"
    # What was recorded as it ended stays as it was.
    append(perflogs, [dataclasses.replace(built(), output="recorded")])
    assert [complete(path, perflogs) for _ in range(2)] == ["s1", "s1"]
    run = read_session(perflogs, "s1")
    assert [(each.id, each.attempt, each.result) for each in run.cases] == [
        ("MpiCollective_3", 1, "fail"),
        ("X", 1, "skip"),
        ("MpiCollective_3", 2, "fail"),
    ]
    assert run.cases[0].output == "recorded"
    assert run.end is not None
    assert (run.end.announced, run.end.info["kind"]) == (2, "before")
    assert len(run_of_report(path).cases) == 3
