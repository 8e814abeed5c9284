"""The smoke run of every site that is not ours, gone through without running anything."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

SUITE = Path(__file__).resolve().parents[2]
REFRAME = Path(sys.executable).parent / "reframe"
SITES = sorted({path.stem for path in (SUITE / "sites").glob("*.yaml")} - {"local", "testbed"})


def dry_run(place: Path, system: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            REFRAME,
            f"--config-file={SUITE / 'reframe-config.py'}",
            f"--system={system}",
            "-c",
            SUITE / "checks",
            "--tag=smoke",
            f"--stage={place / 'stage'}",
            f"--output={place / 'output'}",
            f"--report-file={place / 'report.json'}",
            "--dry-run",
        ],
        env={**os.environ, "RFM_WARN_AS_ERROR": "1", "FABRICHECK_ROOT": str(SUITE)},
        cwd=SUITE,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, subprocess.CompletedProcess[str]]:
    """Two at a time, as each loads every check."""
    places = [tmp_path_factory.mktemp(system) for system in SITES]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(SITES, pool.map(dry_run, places, SITES), strict=True))


@pytest.mark.parametrize("system", SITES)
def test_the_smoke_run_passes_a_dry_run(
    runs: dict[str, subprocess.CompletedProcess[str]], system: str
) -> None:
    done = runs[system]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failure(s)" in done.stdout
    # Placements of every transport that the site offers between nodes.
    assert set(re.findall(r"placement=(\w+)-\dn", done.stdout)) >= {"tcp", "shm"}
    assert done.stdout.count("DRY") > 8
