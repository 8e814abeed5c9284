"""``fabricheck plan``, ``references`` and ``site``: what is printed, and the exit codes."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import run as invoke
from tests.refusals import refused

from fabricheck.cli import plan, references, site
from fabricheck.planning import plan as planning
from fabricheck.planning.site_init import Facts
from fabricheck.reframe_ext.matrix import CheckCase

SITE = """\
systems:
  - name: hpc
    hostnames: [x]
    partitions:
      - name: cpu
        scheduler: local
        launcher: mpirun
        environs: [gnu]
        features: [shm, nodes_1, bound_ranks]
environments:
  - {name: gnu, cc: sh, target_systems: [hpc]}
"""
REFERENCES = """\
rules:
- for: {check: MpiPointToPoint, benchmark: latency}
  value: {latency_p50_1B: 1}
  bound: [null, 1]
  warning: [null, null]
  kind: measured
  source: one run
  date: 2026-11-21
"""
CASE = CheckCase(
    "MpiPointToPoint", "latency", "shm-1n", "cpu", "gnu", ("nightly",), (), ("latency_p50_1B",)
)
OUT = CheckCase("MpiPointToPoint", "latency", "rc-2n", "cpu", "", ("nightly",), ("rdma",))


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("sites", SITE), ("references", REFERENCES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hpc.yaml").write_text(text)
    for module in (plan, references, site):
        monkeypatch.setattr(module, "SUITE", tmp_path)
    monkeypatch.setattr(planning, "read_cases", lambda *_: [CASE, OUT])
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    done = invoke(*words)
    return done.exit_code, done.stdout


def test_a_plan_is_text_or_json(suite: Path) -> None:
    code, text = run("plan", "--system", "hpc")
    assert (code, text.splitlines()[0]) == (0, "hpc: 1 cases run, 1 are left out")
    assert "partition cpu lacks rdma" in text
    code, text = run("plan", "--system", "hpc", "--tag", "nightly", "--json")
    found = json.loads(text)
    assert found["cases"][0]["variables"] == ["latency_p50_1B"]
    assert found["left_out"][0]["reason"] == "partition cpu lacks rdma"


def test_a_plan_of_some_cases(suite: Path) -> None:
    code, text = run("plan", "--system", "hpc", "--nodes", "1")
    assert (code, text.splitlines()[0]) == (0, "hpc: 1 cases run, 0 are left out")
    with refused("FC0412", "found transport 'rc', which needs"):
        run("plan", "--system", "hpc", "--transport", "rc")


def test_a_night_within_the_budget_is_shown(suite: Path) -> None:
    with refused("FC2526", "expected a section night in the site file of hpc"):
        run("plan", "--system", "hpc", "--night")
    (suite / "sites" / "hpc.yaml").write_text(f"{SITE}night: {{budget: {{wall: 10m}}}}\n")
    code, text = run("plan", "--system", "hpc", "--night")
    assert (code, text[: text.index(",")]) == (0, "hpc: 1 of 1 cases run tonight")
    code, text = run("plan", "--system", "hpc", "--night", "--json")
    found = json.loads(text)
    assert (found["chosen"][0]["case"]["benchmark"], found["resting"]) == ("latency", [])
    with refused("FC2525"):
        run("plan", "--system", "hpc", "--night", "--tag", "smoke")


def test_references_are_listed(suite: Path) -> None:
    code, text = run("references", "list", "--system", "hpc", "--json")
    (row,) = json.loads(text)["references"]
    assert (code, row["critical"], row["source"]) == (0, [None, 2], "one run")
    code, text = run("references", "list", "--system", "hpc", "--check", "MpiCollective")
    assert "latency_p50_1B" not in text


def test_references_that_meet_the_cases_are_exit_code_0_others_1(suite: Path) -> None:
    assert run("references", "check", "--system", "hpc")[0] == 0
    path = suite / "references" / "hpc.yaml"
    path.write_text(REFERENCES.replace("1B:", "2B:"))
    code, text = run("references", "check", "--system", "hpc")
    assert code == 1
    assert "no reference for 1 of 1 values" in text
    assert "no case of this system measures latency_p50_2B" in text
    code, text = run("references", "check", "--system", "hpc", "--json")
    assert (code, len(json.loads(text)["partly"])) == (1, 1)


def test_a_site_is_written_once(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fabricheck.planning.site_init.gather", lambda *_, alone: Facts(missing=("CPUs: nothing",))
    )
    code, text = run("site", "init", "new", "--hostname", "^new$")
    assert code == 0
    assert "not found: CPUs: nothing" in text
    assert "fabricheck site check new" in text
    assert (suite / "sites" / "new.yaml").exists()
    with refused("FC2531", r"No closing quotation.*: close its quotes"):
        run("site", "init", "newer", "--on-node", "'")


def test_a_site_with_something_wrong_is_exit_code_1(suite: Path) -> None:
    assert run("site", "check", "hpc")[0] == 0
    path = suite / "sites" / "hpc.yaml"
    path.write_text(SITE.replace("[shm,", "[rmda,"))
    code, text = run("site", "check", "hpc")
    assert (code, text.splitlines()[0][:6]) == (1, "wrong:")
    code, text = run("site", "check", "hpc", "--json")
    assert (code, json.loads(text)["remarks"][0]["effect"]) == (1, "wrong")
