"""The whole matrix of every shipped system, gone through without running anything."""

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fabricheck.benchmarks.osu import PROBE_BENCHMARKS
from fabricheck.benchmarks.registry import names
from fabricheck.transports import Placement, placements

SUITE = Path(__file__).resolve().parents[2]
REFRAME = Path(sys.executable).parent / "reframe"
SITES = sorted(path.stem for path in (SUITE / "sites").glob("*.yaml"))


@pytest.fixture
def reframe(tmp_path: Path) -> Callable[..., str]:
    return functools.partial(run_reframe, tmp_path)


def run_reframe(place: Path, system: str, *options: str) -> str:
    done = subprocess.run(
        [
            REFRAME,
            f"--config-file={SUITE / 'reframe-config.py'}",
            f"--system={system}",
            "-c",
            SUITE / "checks",
            f"--stage={place / 'stage'}",
            f"--output={place / 'output'}",
            f"--report-file={place / 'report.json'}",
            *options,
        ],
        env={**os.environ, "RFM_WARN_AS_ERROR": "1"},
        cwd=SUITE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def recorded_bytes() -> dict[Path, int]:
    return {path: path.stat().st_size for path in (SUITE / "perflogs").glob("*/*/*")}


def expected_cases(system: str) -> set[tuple[str, str, str]]:
    """(benchmark, placement, environment) of every MPI case that the site's features allow."""
    site = yaml.safe_load((SUITE / "sites" / f"{system}.yaml").read_text())
    with_mpi = {
        each["name"]
        for each in site["environments"]
        if "mpi" in each["features"] and "prefix_variable" not in each
    }
    cases = set()
    for partition in site["systems"][0]["partitions"]:
        for family, nodes in (("pt2pt", [1, 2]), ("collective", [1, 2, 4, 8, 16])):
            for placement in placements(nodes):
                if set(Placement.read(placement).features) <= set(partition["features"]):
                    cases |= {
                        (benchmark, placement, environment)
                        for benchmark in names(family)
                        for environment in with_mpi & set(partition["environs"])
                    }
    return cases


@pytest.mark.parametrize("system", SITES)
def test_the_matrix_is_what_the_site_offers(reframe: Callable[..., str], system: str) -> None:
    described = json.loads(reframe(system, "--describe"))
    listed = {
        (check["benchmark"], check["placement"]) for check in described if "placement" in check
    }
    expected = {(benchmark, placement) for benchmark, placement, _ in expected_cases(system)}
    assert expected <= listed
    assert {case for case in listed - expected if case[0] in PROBE_BENCHMARKS} == set()


def test_the_rdma_partition_of_the_testbed_is_for_rc_and_ud(reframe: Callable[..., str]) -> None:
    described = json.loads(reframe("testbed:rdma", "--describe"))
    placed = {(check["benchmark"], check.get("placement")) for check in described}
    mpi = {case for case in placed if case[0] in PROBE_BENCHMARKS}
    assert mpi == {(name, f"{way}-2n") for name in PROBE_BENCHMARKS for way in ("rc", "ud")}


@pytest.mark.parametrize("system", SITES)
def test_the_whole_matrix_passes_a_dry_run(reframe: Callable[..., str], system: str) -> None:
    record = recorded_bytes()
    output = reframe(system, "--dry-run")
    assert recorded_bytes() == record, "a dry run measures nothing, so it records nothing"
    assert "0 failure(s)" in output
    ran = output.count("DRY")
    assert ran >= len(expected_cases(system)), output


def test_collectives_over_ud_wait_for_the_acceptance_run(reframe: Callable[..., str]) -> None:
    def listed(tag: str) -> set[str]:
        return set(
            re.findall(
                r"^- MpiCollective .*placement=(\S+)",
                reframe("testbed", "-l", "-t", tag),
                re.MULTILINE,
            )
        )

    assert listed("acceptance") - listed("nightly") == {"ud-2n"}
    assert "rc-2n" in listed("nightly")


def test_a_prefix_switches_mvapich2_on_for_rc_and_ud(
    reframe: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for compiler in ("mpicc", "mpicxx"):
        (tmp_path / "bin" / compiler).touch(mode=0o755)
    monkeypatch.setenv("FABRICHECK_MVAPICH2", str(tmp_path))
    listed = re.findall(
        r"^- (Mpi\w+.*) /", reframe("testbed", "-l", "-p", "mvapich2"), re.MULTILINE
    )
    assert {case.rpartition("=")[2] for case in listed} == {"rc-2n", "ud-2n"}
    assert len(listed) == 2 * len(PROBE_BENCHMARKS)


def test_the_nightly_mode_is_the_tag(reframe: Callable[..., str]) -> None:
    found = [
        re.findall(r"^Found (\d+) check", reframe("local", option, "--list"), re.MULTILINE)
        for option in ("--mode=nightly", "--tag=nightly", "--tag=.*")
    ]
    assert found[0] == found[1]
    assert 0 < int(found[0][0]) < int(found[2][0])
