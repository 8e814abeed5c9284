"""A benchmark added as one folder elsewhere: measured, proved, judged, recorded and shown."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.reframe_ext import recorded
from tests.reframe_ext.recorded import REFRAME

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "data" / "benchmarks" / "walk"
SITE = """\
systems:
  - name: tiny
    hostnames: ['.*']
    partitions:
      - name: here
        scheduler: local
        launcher: local
        environs: [builtin]
        features: [shm, nodes_1]
environments:
  - {name: builtin, target_systems: [tiny]}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "folders" / "walk")
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "tiny.yaml").write_text(SITE)
    shutil.copy(ROOT / "reframe-config.py", tmp_path)
    return tmp_path


def command(place: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)),
        cwd=place,
        env={
            **os.environ,
            "FABRICHECK_BENCHMARKS": str(place / "folders"),
            "RFM_WARN_AS_ERROR": "1",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def measured(place: Path, **variables: str) -> dict[str, Any]:
    ran = command(place, REFRAME, "-C", "reframe-config.py", "-c", "folders", "-r", **variables)
    assert (place / "perflogs").exists(), ran.stdout + ran.stderr
    (case,) = recorded.measured(place)
    return case


def fabricheck(place: Path, *words: object) -> str:
    done = command(place, sys.executable, "-m", "fabricheck", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_folder_is_all_that_a_benchmark_needs(place: Path) -> None:
    case = measured(place)
    assert case["name"] == "MemoryWalk %benchmark=walk %transport=shm %num_nodes=1"
    assert (case["benchmark"], case["transport"], case["program"]) == ("walk", "shm", "walk")
    assert (case["level"], case["result"]) == ("good", "pass")
    assert str(case["evidence"]).startswith("one process on ")
    assert case["reference_source"] == "four times what it usually is"
    assert {each.variable for each in case["samples"]} == {
        "latency_avg_1KiB", "latency_avg_2KiB", "latency_avg_4KiB",
    }  # fmt: skip
    store = place / "history"
    told = fabricheck(place, "history", "refresh", "--perflogs", "perflogs", "--store", store)
    assert "3 new values" in told
    page = place / "page.html"
    fabricheck(place, "report", "--html", page, "--history", store)
    assert "Steps through memory, memory of a node: latency" in page.read_text()
    output = command(place, "sh", "folders/walk/walk.sh", "1024", "2048").stdout
    (place / "walk.out").write_text(output)
    assert "walk of walk 1.0" in fabricheck(place, "parse", "walk.out")


@pytest.mark.parametrize(
    ("broken", "level"),
    [
        ({"FAULTY": "2048"}, "untrusted"),
        ({"TIME": "0.400"}, "warning"),
        ({"TIME": "0.600"}, "critical"),
    ],
)
def test_what_is_wrong_with_it_is_seen(place: Path, broken: dict[str, str], level: str) -> None:
    case = measured(place, **broken)
    assert (case["level"], case["result"]) == (level, "pass" if level == "warning" else "fail")
