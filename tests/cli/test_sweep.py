"""``fabricheck sweep`` as a user meets it, and that no night takes anything of it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.acceptance.test_best_setting import swept
from tests.cli.conftest import run
from tests.history.recorded import case
from tests.refusals import refused

from fabricheck.planning import plan as planning
from fabricheck.planning.plan import Plan
from fabricheck.record.entries import Session, moment
from fabricheck.record.write import append
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.runner import selection
from fabricheck.runner import sweep as sweeping

CASES = tuple(
    CheckCase("MpiCollective", "allreduce", "shm-1n", "here", environ, (), ())
    for environ in ("openmpi", "mpich")
)
VARY = ("--vary", "UCX_RNDV_THRESH=8k,64k,inf")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What a sweep gives that finds 64k better; it may be changed."""
    _, order, cases = swept(gains={2: 1.3})
    monkeypatch.setattr(selection, "check", lambda *_: None)
    monkeypatch.setattr(planning, "read_cases", lambda *_: list(CASES))
    monkeypatch.setattr(sweeping, "order_of", lambda *_: order)
    monkeypatch.setattr(sweeping, "measure", lambda *_, **__: (tmp_path, cases))
    return cases


def sweep(*words: str) -> Result:
    where = ("--system", "local", "--benchmark", "allreduce", "--environ", "openmpi")
    return run("sweep", *where, *VARY, *words)


def test_the_answer_stands_first_and_then_the_table(runs: list[Any], tmp_path: Path):
    shown = sweep()
    assert shown.exit_code == 0
    assert "best for all sizes: UCX_RNDV_THRESH=64k, 1.3" in shown.stdout
    line = "for environment openmpi in the site file: env_vars: [[UCX_RNDV_THRESH, '64k']]"
    assert line in shown.stdout
    assert shown.stdout.count("no difference shown") == 8
    assert json.loads((tmp_path / "sweep.json").read_text())["best"][0]["says"] == "better"


def test_the_data_have_everything(runs: list[Any]):
    found = json.loads(sweep("--json").stdout)
    assert (found["format"], found["system"], found["placement"]) == (1, "local", "shm-1n")
    assert len(found["ratios"]) == 12
    assert found["settings"][0]["variables"] == {}


@pytest.mark.parametrize(("count", "code"), [(1, 1), (48, 3)])
def test_what_cannot_be_trusted_is_no_success(runs: list[Any], count: int, code: int):
    bad = [replace(each, level="untrusted", findings=("wrong lane",)) for each in runs[:count]]
    runs[:count] = bad
    shown = sweep()
    assert shown.exit_code == code
    assert "can't be trusted" in shown.stdout


def test_a_dry_run_says_what_would_run_and_runs_nothing(
    runs: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweeping, "measure", lambda *_, **__: pytest.fail("it ran"))
    shown = sweep("--dry-run", "--rounds", "12")
    assert shown.exit_code == 0
    assert "  UCX_RNDV_THRESH=inf\n48 runs, " in shown.stdout
    found = json.loads(sweep("--dry-run", "--json").stdout)
    assert (len(found["runs"]), found["environ"]) == (48, "openmpi")


def test_several_cases_are_named_with_the_options_that_choose(runs: list[Any]):
    with refused("FC2903", "--environ mpich MpiCollective allreduce shm-1n: choose one"):
        run("sweep", "--system", "local", "--benchmark", "allreduce", *VARY)
    assert isinstance(planning.make(Path(), "local"), Plan)


_ASK = """
import json, sys
from fabricheck.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["fabricheck", *words]
    try:
        main()
    except SystemExit as end:
        print("\\nended", end.code)
"""


@pytest.mark.integration
def test_no_night_takes_anything_of_a_sweep(tmp_path: Path):
    nights = [case(n, environ="kept", job=f"{n}") for n in range(8)]
    ends = [
        Session(time=each.time, session=each.session, system="testbed", announced=1,
                info={"kind": "nightly", "num_failures": 0})
        for each in nights
    ]  # fmt: skip
    append(tmp_path / "perflogs", [*nights, *ends])
    sweeps = tmp_path / "reports" / "sweeps" / "s" / "perflogs"
    ours = [case(n, 99.0, session="s", environ="swept", job=f"9/{n}", repeat=n) for n in range(8)]
    end = Session(time=moment(), session="s", system="testbed", announced=8, info={"kind": "sweep"})
    append(sweeps, [*ours, end])
    commands = (
        ["history", "refresh"],
        ["history", "show", "--json"],
        ["trend", "--json"],
        ["baseline", "propose", "--least", "5", "--json"],
        ["report", "--json"],
        ["report", "--html", "page.html"],
        ["metrics", "write", "metrics.prom"],
        ["accept", "--before", "20261101:20261105", "--after", "20261105:now", "--json"],
        ["compare", "20261101:20261105", "20261105:now", "--json"],
    )
    done = subprocess.run(
        [sys.executable, "-c", _ASK, json.dumps(commands)],
        cwd=tmp_path, env=os.environ | {"FABRICHECK_SITES": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    # Each has read something and judged it.
    codes = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("ended ")]
    assert len(codes) == len(commands) and set(codes) <= {"0", "1", "3"}, said
    files = [p for p in tmp_path.rglob("*") if p.is_file() and sweeps not in p.parents]
    said += "".join(path.read_text(errors="replace") for path in files)
    assert "kept" in said
    assert "swept" not in said
