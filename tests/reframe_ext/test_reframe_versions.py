"""Every ReFrame that pyproject.toml allows lists the suite, plans it, and measures on ``local``."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.reframe_ext.recorded import REFRAME

ROOT = Path(__file__).parents[2]
TRIED = ("4.10.0", "4.10.2", "4.10.3", "4.10.4")
ANOTHER = "FABRICHECK_REFRAME"
"""Environment variable with the directory of one more ReFrame, such as its development branch."""

Command = Callable[..., str]


def allowed() -> Requirement:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = map(Requirement, project["optional-dependencies"]["reframe"])
    return next(each for each in found if each.name == "reframe-hpc")


def test_what_is_tried_is_what_is_allowed() -> None:
    assert all(version in allowed().specifier for version in TRIED)
    assert not [each for each in ("4.9.3", "4.10.1", "4.12.0") if each in allowed().specifier]


@pytest.fixture(params=[*TRIED, ANOTHER])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> Command:
    """Runs a command with a version of ReFrame, in a home of its own; gives what it prints."""
    place = tmp_path / "reframe"
    if request.param == ANOTHER:
        if ANOTHER not in os.environ:
            pytest.skip(f"expected a ReFrame in {ANOTHER}, found none: name its directory")
        place = Path(os.environ[ANOTHER])
    else:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place]
        subprocess.run([*pip, f"reframe-hpc=={request.param}"], check=True)
    home = tmp_path / "home"
    home.mkdir()
    own = {"PYTHONPATH": str(place), "FABRICHECK_SITES": str(home), "RFM_WARN_AS_ERROR": "1"}

    def run(*words: object, codes: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            list(map(str, words)),
            cwd=home,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout

    if request.param != ANOTHER:
        assert run(REFRAME, "--version").strip() == request.param
    return run


@pytest.mark.lab
def test_the_suite_runs_with_each(command: Command) -> None:
    contract = Path(__file__).with_name("test_reframe_contract.py")
    command(sys.executable, "-m", "pytest", "-q", "-n0", contract)
    smoke = (REFRAME, "-C", ROOT / "reframe-config.py", "--system=local", "--tag=^smoke$")
    assert "Found " in command(*smoke, "-l")
    assert "(0 failure(s)" in command(*smoke, "--dry-run")
    fabricheck = (REFRAME.with_name("fabricheck"),)
    asked = ("--system", "local", "--environ", "openmpi", "--benchmark", "latency")
    # On a machine with other work the case is disturbed, which is no fault of ReFrame.
    command(*fabricheck, "run", *asked, codes=(0, 1))
    counts = json.loads(command(*fabricheck, "report", "--json", codes=(0, 1, 3)))["counts"]
    measured = {status for status, count in counts.items() if count}
    assert measured
    assert measured <= {"good", "warning", "disturbed"}
