"""What a real ReFrame records of a session: each case as it ends, and its end."""

import json
from pathlib import Path

import pytest
from tests.fabric.conftest import unpack
from tests.reframe_ext.pair_suite import SLOW, Ran
from tests.reframe_ext.recorded import measured, recorded, reframe

from fabricheck.errors import EXIT_BAD_INPUT
from fabricheck.record.entries import CaseEntry, Nodes, Session
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
            "FABRICHECK_SESSION": "asked for",
        },
    )


def test_a_case_is_recorded_as_it_ends_and_the_session_behind_it(tmp_path: Path) -> None:
    run(tmp_path)
    found = recorded(tmp_path)
    (case,) = (entry for entry in found if isinstance(entry, CaseEntry) and not entry.fixture)
    assert any(isinstance(entry, Nodes) for entry in found)
    assert (case.system, case.benchmark, case.transport) == ("cards", "ib_send_lat", "rc")
    assert (case.num_nodes, case.nodes, case.binding) == (2, ("n0", "n1"), "cyclic")
    assert (case.result, case.level, case.attempt) == ("fail", "no-reference", 1)
    assert case.findings
    assert "no reference" in case.fail_reason
    assert {sample.level for sample in case.samples} == {"no-reference"}
    assert all((sample.value or 0) > 0 for sample in case.samples)
    assert (case.check, case.session) == ("VerbsPerftest", "asked for")
    assert (case.ranks, case.ranks_per_node, case.fail_phase) == (2, 1, "performance")
    assert case.name.startswith("VerbsPerftest %benchmark=ib_send_lat")
    (end,) = (entry for entry in found if isinstance(entry, Session))
    assert (end.session, end.system, end.announced) == ("asked for", "cards", 1)
    assert end.info["num_failures"] == 1


def test_an_untrusted_case_is_recorded_with_its_samples(tmp_path: Path) -> None:
    run(tmp_path, sent={"0": 10, "1": 10})
    (case,) = measured(tmp_path)
    assert (case["level"], case["fail_phase"]) == ("untrusted", "sanity")
    assert case["findings"]
    assert {(each.value, each.level) for each in case["samples"]} == {(None, "untrusted")}


def test_where_reframe_only_builds_and_plans_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(UNRECORDED, "1")
    with pytest.raises(ValueError, match="not enough values"):
        run(tmp_path)
    assert list(tmp_path.glob("stage/**/rfm_job.sh"))
    assert not recorded(tmp_path)


SUITE = """
import reframe as rfm
from reframe.core.builtins import run_after, sanity_function
from reframe.core.exceptions import ReframeError


@rfm.simple_test
class Broken(rfm.RunOnlyRegressionTest):
    executable = "true"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @run_after("setup")
    def refuse(self):
        raise ReframeError("it can't be set up")

    @sanity_function
    def end(self):
        return True


@rfm.simple_test
class Waiting(rfm.RunOnlyRegressionTest):
    executable = "true"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @run_after("init")
    def wait(self):
        self.depends_on("Broken")

    @sanity_function
    def end(self):
        return True
"""


def test_what_came_to_no_log_is_recorded_at_the_end(tmp_path: Path) -> None:
    options = ("--session-extras=campaign=a", "--run")
    reframe(tmp_path, SUITE, *options)
    cases = {each["id"]: each for each in measured(tmp_path)}
    assert set(cases) == {"Broken", "Waiting"}
    assert (cases["Broken"]["result"], cases["Broken"]["fail_phase"]) == ("fail", "setup")
    assert "it can't be set up" in cases["Broken"]["fail_reason"]
    assert (cases["Waiting"]["result"], cases["Waiting"]["needs"]) == ("fail_deps", ("Broken",))
    (end,) = (entry for entry in recorded(tmp_path) if isinstance(entry, Session))
    assert (end.announced, end.kind, end.info["num_failures"]) == (2, "acceptance", 1)
    # Where it can't be recorded, whoever started it must not take the run for a whole one.
    (tmp_path / "perflogs").rename(tmp_path / "kept")
    (tmp_path / "perflogs").write_text("")
    lost = reframe(tmp_path, SUITE, *options)
    assert lost.returncode == EXIT_BAD_INPUT
    assert "the end of the session is not recorded: " in lost.stdout + lost.stderr
