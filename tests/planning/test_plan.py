"""The plan: ReFrame's own matrix, and a reason for every case that is not in it."""

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.reframe_ext import warm

from fabricheck.errors import FabricheckError
from fabricheck.planning import plan
from fabricheck.planning.night import NightPlan, Weighed, selected
from fabricheck.planning.plan import LeftOut, Plan, divide, make
from fabricheck.planning.plan_text import check_lines, plan_lines
from fabricheck.planning.references import check
from fabricheck.provenance import SUITE
from fabricheck.record.costs import Cost, CostEstimate
from fabricheck.reframe_ext.case import BenchmarkCase
from fabricheck.reframe_ext.command import environment
from fabricheck.reframe_ext.judged import CHOSEN
from fabricheck.reframe_ext.matrix import CheckCase, lacking_terms, read_cases
from fabricheck.reframe_ext.nodes import lacking_of_scheduler
from fabricheck.reframe_ext.pair_health import PairSurvey
from fabricheck.reframe_ext.surveys import FabricSurvey, NodeSurvey
from fabricheck.runner.selection import RunSelection

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def local() -> Plan:
    return make(SUITE, "local")


def listed_by_reframe(*options: str, checks: str = "") -> set[tuple[str, ...]]:
    """Check, hash, partition and environment of each case of the system local."""
    where = (f"--config-file={SUITE / 'reframe-config.py'}", "--system=local")
    which = ("-c", SUITE / "checks" / checks, "-lC", *options)
    listed = warm.run([*where, *which], Path.cwd(), environment(SUITE))
    assert listed.returncode == 0, listed.stdout + listed.stderr
    # What others depend on stands below them, after a caret; builds have a scope, after a tilde.
    lines = r"^(?:- | +\^)(?=[^~]*$)(\w+) .*/(\w+) @local:(\S+)\+(\S+)$"
    return {match.groups() for match in re.finditer(lines, listed.stdout, re.MULTILINE)}


def test_what_the_command_line_names_is_chosen(local: Plan) -> None:
    wanted = RunSelection("local", ("latency", "bw"), ("shm",), ("mpich",), (), (1,))
    (first, *options) = wanted.reframe_options()
    assert first == "--system=local"
    found = listed_by_reframe(*options)
    cases = [case for case in local.cases if wanted.holds(*of(case))]
    assert len(found) == len(cases) > 1


def of(case: CheckCase) -> tuple[str, str, str]:
    return case.benchmark, case.placement, case.environ


def test_reframe_runs_the_chosen_cases_of_a_night_and_no_others(
    local: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [case for case in local.cases if "nightly" in case.tags]
    ratio = next(case for case in cases if case.needs)
    sides = [case for case in cases if case.name in ratio.needs and case.environ == ratio.environ]
    assert len(sides) == len(ratio.needs)
    chosen = [ratio, *sides, *(case for case in cases if case.benchmark == "latency")]
    weighed = [Weighed(case, "", 1, 1, Cost(1.0, 1)) for case in chosen]
    night = NightPlan("local", tuple(weighed), (), (1, 1), ())
    (tmp_path / "chosen").write_text(json.dumps(selected(night)))
    monkeypatch.setenv(CHOSEN, str(tmp_path / "chosen"))
    found = listed_by_reframe("--tag=^nightly$")
    listed = sorted((check, partition, environ) for check, _, partition, environ in found)
    assert listed == sorted((c.check, c.partition, c.environ) for c in dict.fromkeys(chosen))
    assert 3 <= len(listed) < len(cases)


def test_a_start_of_reframe_leaves_no_log_in_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert listed_by_reframe("-n^NodeHealth", checks="node_health.py")
    assert not list(tmp_path.glob("rfm-*"))


def test_the_plan_is_the_listing_of_reframe(local: Plan) -> None:
    found = listed_by_reframe()
    listed_cases = sorted((check, partition, environ) for check, _, partition, environ in found)
    assert listed_cases == sorted((c.check, c.partition, c.environ) for c in local.cases)
    assert len(found) > 20


def test_every_case_that_is_left_out_has_a_reason(local: Plan) -> None:
    assert all(each.reason and each.case.lacking for each in local.left_out)
    reasons = {each.reason for each in local.left_out}
    assert "partition here lacks nodes_2" in {reason.replace("rdma, ", "") for reason in reasons}


@pytest.mark.parametrize("system", ["local", "testbed"])
def test_every_value_of_our_own_systems_has_a_reference(system: str, local: Plan) -> None:
    found = check(SUITE, local if system == "local" else make(SUITE, system))
    assert found.cases > 20
    assert found.without_reference == ()
    assert found.partly == ()


def test_an_unknown_system_is_named() -> None:
    with pytest.raises(FabricheckError, match=r"expected a system of sites/ .* found 'lokal'"):
        make(SUITE, "lokal")


@pytest.mark.parametrize(
    ("specs", "has", "lacking"),
    [
        (["+rdma +nodes_2"], {"rdma", "nodes_2"}, ()),
        (["+rdma +nodes_2"], {"rdma"}, ("nodes_2",)),
        (["+rdma +nodes_2"], set(), ("rdma", "nodes_2")),
        (["+a +b +c", "+d"], {"a"}, ("d",)),
        (["+mpi %mpi_family=mpich"], {"mpi"}, ("mpi_family=mpich",)),
        (["-shared"], {"shared"}, ("no shared",)),
        ([], set(), ("nothing that could fit",)),
    ],
)
def test_the_nearest_specification_says_what_is_lacking(
    specs: list[str], has: set[str], lacking: tuple[str, ...]
) -> None:
    def fits(spec: str) -> bool:
        return all(
            (term[1:] in has) is (term[0] != "-") if term[0] in "+-" else term[1:] in has
            for term in spec.split()
        )

    assert lacking_terms(specs, fits) == lacking


CASE = CheckCase("MpiPointToPoint", "latency", "rc-2n", "cpu", "gnu", ("nightly",), ())
WITHOUT_DC = dataclasses.replace(CASE, environ="", lacking=("dc",))
WITHOUT_MPI = dataclasses.replace(CASE, environ="builtin", lacking=("mpi", "mpi_family=mpich"))


def test_cases_are_left_out_for_what_is_lacking_and_for_the_run() -> None:
    weekly = dataclasses.replace(CASE, tags=("weekly",))
    plan = divide("hpc", (CASE, WITHOUT_DC, WITHOUT_MPI, weekly), ["nightly"])
    assert plan.cases == (CASE,)
    assert [each.reason for each in plan.left_out] == [
        "partition cpu lacks dc",
        "environment builtin lacks mpi, mpi_family=mpich",
        "not in the run nightly",
    ]


def test_a_partition_without_gpus_has_one_reason_for_all_that_is_on_them() -> None:
    case = dataclasses.replace(WITHOUT_DC, lacking=("gpu", "rc_cuda", "nodes_2"))
    (out,) = divide("hpc", (case,)).left_out
    assert out.reason == "partition cpu lacks gpu"


def test_a_tag_that_no_check_has_is_named() -> None:
    with pytest.raises(FabricheckError, match=r"tag of the checks \(nightly\), found 'nightyl'"):
        divide("hpc", [CASE], ["nightyl"])


REFERENCES = """\
rules:
- for: {check: MpiPointToPoint, environ: gnu, benchmark: latency, placement: rc-2n}
  value: {latency_p50_1B: 1, latency_p50_2B: 1}
- for: {check: MpiPointToPoint, environ: gnu, benchmark: latency, placement: ud-2n}
  value: {latency_p50_1B: 1}
- bound: [null, 1]
  warning: [null, null]
  kind: measured
  source: one run
  date: 2026-11-21
"""


def of_cases(*cases: CheckCase) -> Plan:
    return Plan("hpc", cases, (), ())


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "hpc.yaml").write_text(REFERENCES)
    return tmp_path


def test_cases_and_references_that_do_not_meet_are_found(suite: Path) -> None:
    measured = dataclasses.replace(CASE, variables=("latency_p50_1B", "latency_p99_1B"))
    other = dataclasses.replace(CASE, benchmark="bw")
    unjudged = dataclasses.replace(CASE, check="NodeHealth")
    found = check(suite, of_cases(measured, other, unjudged))
    assert found.cases == 2
    assert found.without_reference == (other,)
    assert found.partly == ((measured, ("latency_p99_1B",)),)
    unmeasured, unused = found.without_case
    assert "no case of this system measures latency_p50_2B" in unmeasured
    assert (
        "no case of this system has these references (MpiPointToPoint gnu latency ud-2n)" in unused
    )
    lines = list(check_lines(found))
    assert lines[0] == "hpc: 0 of 2 cases have a reference for every value"
    assert any("no reference for 1 of 2 values, such as latency_p99_1B" in line for line in lines)


def test_references_of_an_mpi_that_is_not_installed_wait_for_it(suite: Path) -> None:
    (suite / "sites").mkdir()
    (suite / "sites" / "hpc.yaml").write_text(
        "systems: [{name: hpc, hostnames: [x], partitions: [{name: cpu, scheduler: local, "
        "launcher: local, environs: [gnu]}]}]\n"
        "environments: [{name: gnu, prefix: build/mpi/gnu, cc: cc, cxx: c++, features: [mpi], "
        "extras: {mpi_family: openmpi}, target_systems: [hpc]}]\n"
    )
    other = dataclasses.replace(CASE, environ="other", placement="rc-2n")
    (unused,) = check(suite, of_cases(other)).without_case
    assert "rc-2n" in unused, "a transport that is measured here has cases, and this rule none"


def test_what_meets_is_said_in_one_line(suite: Path) -> None:
    names = ("latency_p50_1B", "latency_p50_2B")
    rc = dataclasses.replace(CASE, variables=names)
    ud = dataclasses.replace(CASE, placement="ud-2n", variables=names[:1])
    lines = list(check_lines(check(suite, of_cases(rc, ud))))
    assert lines == ["hpc: 2 of 2 cases have a reference for every value"]


def test_without_a_file_nothing_has_a_reference(tmp_path: Path) -> None:
    assert check(tmp_path, of_cases(CASE)).without_reference == (CASE,)


def test_a_program_that_cases_start_and_that_is_not_here_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab = dataclasses.replace(CASE, benchmark="tail3", placement="tcp-4n")
    monkeypatch.setattr(plan, "read_cases", lambda *_: [CASE, lab, lab])
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = [*plan_lines(make(SUITE, "local"), CostEstimate(0.0, 0.0, 0, 1))]
    (remark,) = [line for line in lines if "redis-server" in line]
    assert remark.startswith("2 cases of allreduce-lab start redis-server, which is not on PATH")
    (tmp_path / "redis-server").touch(mode=0o755)
    assert make(SUITE, "local").remarks == ()


def test_the_text_names_cases_reasons_and_what_is_absent() -> None:
    out = LeftOut(dataclasses.replace(CASE, placement="dc-2n"), "partition cpu lacks dc")
    plan = Plan("hpc", (CASE, CASE), (out,), ("environment mvapich2: no prefix",))
    text = "\n".join(plan_lines(plan, CostEstimate(0.0, 0.0, 0, 1)))
    assert text.startswith("hpc: 2 cases run, 1 are left out")
    assert re.search(r"cpu +gnu +MpiPointToPoint +rc-2n +2\n", text)
    assert "nothing with environment mvapich2: no prefix" in text
    assert re.search(r"cpu +partition cpu lacks dc +1 +latency dc-2n", text)


@pytest.mark.parametrize(
    ("body", "expected", "message"),
    [
        ("import absent", FabricheckError, "ReFrame can't load them: .*No module named 'absent'"),
        ("    valid_systems = [", FabricheckError, "ReFrame can't load them: .*was never closed"),
        (
            "    @rfm.core.builtins.run_after('init')\n    def fail(self):\n        {}['ours']",
            RuntimeError,
            r"exit code 70: .*ours[\s\S]*Traceback[\s\S]*, in fail",
        ),
    ],
)
def test_what_a_person_can_mend_is_told_from_a_fault_of_the_suite(
    tmp_path: Path, body: str, expected: type[Exception], message: str
) -> None:
    (tmp_path / "reframe-config.py").write_text(
        "site_configuration = {'systems': [{'name': 'one', 'hostnames': ['.'], 'partitions': [{"
        "'name': 'main', 'scheduler': 'local', 'launcher': 'local', 'environs': ['builtin']}]}],"
        "'environments': [{'name': 'builtin'}]}\n"
    )
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "check.py").write_text(
        "import reframe as rfm\n@rfm.simple_test\nclass Check(rfm.RunOnlyRegressionTest):\n"
        f"    valid_systems = ['*']\n    valid_prog_environs = ['*']\n{body}\n"
    )
    with pytest.raises(expected, match=message):
        read_cases(tmp_path, "one")


@pytest.mark.parametrize(
    ("scheduler", "check", "lacks"),
    [
        ("torque", NodeSurvey, ("a scheduler that lists its nodes",)),
        ("lsf", FabricSurvey, ("a scheduler that lists its nodes",)),
        ("flux", PairSurvey, ("a scheduler that lists its nodes",)),
        ("torque", BenchmarkCase, ()),
        ("allocation", NodeSurvey, ()),
        ("local", PairSurvey, ()),
    ],
)
def test_what_a_scheduler_cannot_run_does_not_run(
    scheduler: str, check: type, lacks: tuple[str, ...]
) -> None:
    partition = SimpleNamespace(scheduler=SimpleNamespace(registered_name=scheduler))
    assert lacking_of_scheduler(check, partition) == lacks


def test_what_no_site_file_mends_and_the_cost_come_before_the_rest() -> None:
    many = [LeftOut(CASE, f"partition cpu lacks {each}") for each in ("gpu", "rdma") * 9]
    survey = LeftOut(
        dataclasses.replace(CASE, check="NodeHealth"), "partition cpu lacks a scheduler that"
    )
    plan = Plan("hpc", (CASE,), (*many, survey), ())
    lines = [*plan_lines(plan, CostEstimate(0.0, 0.0, 0, 1))]
    first = next(number for number, line in enumerate(lines) if line.startswith("partition  r"))
    assert "lacks a scheduler" in lines[first + 1]
    assert lines.index("cost: unknown, as none of the cases was measured here yet") < first
