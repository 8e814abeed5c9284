"""``fabricheck new-benchmark``: what it writes is whole, and runs, is proved and recorded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import run
from tests.reframe_ext import recorded
from tests.refusals import refused

from fabricheck.planning.own_benchmark import write_benchmark


def test_a_folder_has_all_parts_by_its_name(tmp_path: Path) -> None:
    done = run("new-benchmark", "halo_3d", "--directory", tmp_path)
    assert f"export FABRICHECK_BENCHMARKS={tmp_path}" in done.stdout
    folder = tmp_path / "halo_3d"
    assert {each.name for each in folder.iterdir()} == {
        "__init__.py", "check.py", "entries.py", "halo_3d.c", "launch.py", "read.py",
        "references.yaml",
    }  # fmt: skip
    texts = {each.name: each.read_text() for each in folder.iterdir()}
    assert not [name for name, text in texts.items() if "@NAME@" in text or "@CLASS@" in text]
    assert "class Halo3d(BuiltCase)" in texts["check.py"]
    # What one has to understand of it: below the lines that say what it is.
    program = texts["halo_3d.c"].partition("int main")[2].splitlines()
    assert len(program) <= 20


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Halo", "FC0954"),
        ("../x", "FC0954"),
        ("latency", "FC0955"),
        ("osu", "FC0955"),
        ("class", "FC0955"),
        ("none", "FC0955"),
        ("mpi_collective", "FC0955"),
    ],
)
def test_a_name_that_can_be_none_is_refused(tmp_path: Path, name: str, code: str) -> None:
    with refused(code):
        write_benchmark(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "halo3d").mkdir()
    with refused("FC0956", "File exists"):
        write_benchmark(tmp_path, "halo3d")
    assert list((tmp_path / "halo3d").iterdir()) == []


@pytest.mark.e2e
@pytest.mark.ranks
@pytest.mark.xdist_group("own benchmark")
def test_what_is_written_runs_on_this_machine_and_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    write_benchmark(tmp_path / "benchmarks", "halo3d")
    words = ("--system", "local", "--benchmark", "halo3d", "--transport", "shm")
    done = subprocess.run(
        [sys.executable, "-m", "fabricheck", "run", *words, "--environ", "openmpi"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "FABRICHECK_SITES": str(tmp_path),
             "FABRICHECK_BENCHMARKS": str(tmp_path / "benchmarks")},
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    case = recorded.measured(tmp_path)[-1]
    assert (case["benchmark"], case["transport"], case["program"]) == ("halo3d", "shm", "halo3d")
    assert "sysv" in str(case["evidence"]) or "posix" in str(case["evidence"])
    # Beside other tests it may be disturbed, which is found after all else is proved and judged.
    assert case["level"] in ("good", "warning") or case["gave"] in ("good", "warning")
