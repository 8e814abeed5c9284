"""What a real ReFrame records of a case, as it ends and from its run report."""

import dataclasses
import json
from pathlib import Path

import pytest
from tests.fabric.conftest import unpack
from tests.reframe_ext.pair_suite import SLOW, Ran

from fabricheck.record.entries import Case, Nodes
from fabricheck.record.read import entries, read_session, record_files
from fabricheck.record.reframe_report import complete, run_of_report
from fabricheck.reframe_ext.command import UNRECORDED

pytestmark = pytest.mark.integration


def run(place: Path, **fake: object) -> None:
    Ran(
        place,
        "perftest.py",
        "benchmark == 'ib_send_lat' and transport == 'rc'",
        extras={**SLOW, "size_step": 1 << 14, "pin": "cyclic"},
        variables={
            "FAKE": json.dumps(fake),
            "FABRICHECK_NODE_ROOT": str(unpack("rxe", place / "tree")),
        },
    )


def test_a_case_is_recorded_as_it_ends_and_completed_by_the_end_of_the_run(tmp_path: Path) -> None:
    run(tmp_path)
    perflogs = tmp_path / "perflogs"
    found = [entry for path in record_files(perflogs) for entry in entries(path)[0]]
    (case,) = (entry for entry in found if isinstance(entry, Case) and not entry.fixture)
    assert isinstance(found[0], Nodes)
    assert (case.system, case.benchmark, case.transport) == ("cards", "ib_send_lat", "rc")
    assert (case.num_nodes, case.nodes, case.binding) == (2, ("n0", "n1"), "cyclic")
    assert (case.result, case.level, case.attempt) == ("fail", "no-reference", 1)
    assert case.findings
    assert "no reference" in case.fail_reason
    assert {sample.level for sample in case.samples} == {"no-reference"}
    assert all((sample.value or 0) > 0 for sample in case.samples)
    # The run report says the same, but for what it can't know.
    told = run_of_report(tmp_path / "run.json")
    (same,) = (each for each in told.cases if not each.fixture)
    own = ("needs", "output", "judging")
    other = {"binding": "cyclic", **{name: getattr(case, name) for name in own}}
    assert dataclasses.replace(same, **other) == case
    session = complete(tmp_path / "run.json", perflogs)
    run_of_record = read_session(perflogs, session)
    assert run_of_record.end is not None
    assert [each.id for each in run_of_record.cases].count(case.id) == 1


def test_an_untrusted_case_is_recorded_with_its_samples(tmp_path: Path) -> None:
    run(tmp_path, sent={"0": 10, "1": 10})
    cases = [e for path in record_files(tmp_path / "perflogs") for e in entries(path)[0]]
    (case,) = (each for each in cases if isinstance(each, Case) and not each.fixture)
    assert (case.level, case.fail_phase) == ("untrusted", "sanity")
    assert case.findings
    assert {(each.value, each.level) for each in case.samples} == {(None, "untrusted")}


def test_where_reframe_only_builds_and_plans_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(UNRECORDED, "1")
    run(tmp_path)
    assert (tmp_path / "run.json").exists()
    assert not (tmp_path / "perflogs").exists() or not record_files(tmp_path / "perflogs")
