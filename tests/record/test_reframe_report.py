"""What run reports and databases of ReFrame say of cases of other suites."""

import json
from pathlib import Path
from typing import Any

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import CaseEntry, Sample, Session
from fabricheck.record.reframe_report import ODD, case_of, entries_of_report

ENTRY: dict[str, Any] = {
    "name": "Stream %.repeat_no=3 %threads=4 /abc @hpc:cpu+gnu",
    "display_name": "Stream %threads=4",
    "unique_name": "Stream_3",
    "system": "hpc",
    "partition": "cpu",
    "environ": "gnu",
    "result": "fail",
    "jobid": 17,
    "job_completion_time_unix": 1763700000.5,
    "job_nodelist": ["n1", "n2", "None"],
    "num_tasks": 256,
    "perfvalues": {"hpc:cpu:triad": [50.0, 100.0, -0.1, None, "GB/s", "fail"]},
    "dependencies_actual": [["Build_1", "hpc:cpu", "gnu"]],
    "stagedir": "/stage",
}


def built(**changes: Any) -> CaseEntry:
    return case_of({**ENTRY, **changes}, "uuid", "2026-01-01T00:00:00+00:00")


def report(path: Path, *runs: list[dict[str, Any]], announced: int = 1) -> Path:
    info = {"uuid": "u1", "num_cases": announced, "time_end_unix": 1763700100, "kind": "before"}
    path.write_text(
        json.dumps({"session_info": info, "runs": [{"testcases": each} for each in runs]})
    )
    return path


def test_a_case_of_another_suite_is_named_by_its_parameters() -> None:
    case = built()
    assert (case.benchmark, case.repeat, case.session) == ("Stream %threads=4", 3, "uuid")
    assert (case.check, case.needs, case.output) == ("Stream", ("Build_1",), "/stage")
    assert (case.transport, case.num_nodes, case.nodes) == ("", 3, ("n1", "n2"))
    assert (case.ranks, case.ranks_per_node, case.job) == (256, 86, "17")
    assert case.samples == (Sample(metric="triad", value=50, unit="GB/s", reference=100, lower=90),)
    # A reference of 0 takes thresholds as they are, and one below 0 has its lower bound below it.
    (sample,) = built(perfvalues={"x": [-9.0, -10.0, -0.1, 0.2, "C", "pass"]}).samples
    assert (sample.lower, sample.upper, sample.result) == (-11.0, -8.0, "pass")
    (sample,) = built(num_tasks=0, perfvalues={"triad": [50.0, 0, 0, None, "GB/s"]}).samples
    assert (sample.lower, sample.upper) == (0, None)


@pytest.mark.parametrize("name", ["", "\n", " ", " @here", " %.repeat_no=3"])
def test_a_case_without_a_name_has_one(name: str) -> None:
    case = built(name=name, display_name="")
    assert (case.check, case.benchmark, case.name) == ("unnamed", "unnamed check", "unnamed check")


@pytest.mark.parametrize(
    "changes",
    [
        {"partition": None},
        {"num_tasks": True},
        {"jobid": 1.5},
        {"job_nodelist": "x"},
        {"job_completion_time_unix": 5},
        {"job_completion_time_unix": 1e300},
        {"perfvalues": {"triad": [1, 2]}},
        {"perfvalues": {"triad": [float("nan"), None, None, None, "us", "pass"]}},
        {"perfvalues": {"": [1, None, None, None, "us", "pass"]}},
    ],
    ids=str,
)
def test_an_entry_that_is_none_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((*ODD, FabricheckError)):
        built(**changes)


def test_a_damaged_case_of_a_report_costs_only_itself(tmp_path: Path) -> None:
    path = report(tmp_path / "r.json", [ENTRY, {**ENTRY, "num_tasks": "two"}])
    entries, problems = entries_of_report(path.read_text(), path)
    assert len(entries) == 2
    assert "case 2" in problems[0].detail


@pytest.mark.parametrize("text", ["", "[]", '{"runs": []}', "{" * 100000, '{"session_info": 1}'])
def test_what_is_no_report_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match="expected a ReFrame run report"):
        entries_of_report(text, tmp_path / "r.json")


def test_each_attempt_is_a_case_and_the_last_entry_is_the_end(tmp_path: Path) -> None:
    path = report(tmp_path / "r.json", [ENTRY], [ENTRY], announced=2)
    *cases, end = entries_of_report(path.read_text(), path)[0]
    assert [each.attempt for each in cases if isinstance(each, CaseEntry)] == [1, 2]
    assert isinstance(end, Session)
    assert (end.session, end.system, end.announced, end.info["kind"]) == ("u1", "hpc", 2, "before")
