"""The whole matrix of every shipped system, gone through without running anything."""

import functools
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricheck.benchmarks.model import RUNS, MpiBenchmark, RanksRule
from fabricheck.benchmarks.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.benchmarks.osu.entries import PROBE_BENCHMARKS
from fabricheck.benchmarks.registry import names
from fabricheck.transports import Placement, families, placements

pytestmark = pytest.mark.integration

SUITE = Path(__file__).resolve().parents[2]
REFRAME = Path(sys.executable).parent / "reframe"
OWN_SITES = ("local", "testbed")
SITES = sorted(path.stem for path in (SUITE / "sites").glob("*.yaml"))


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[dict[str, Any]]]:
    """Every test of a system, which takes ReFrame seconds to tell."""

    @functools.cache
    def ask(system: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            run_reframe(tmp_path_factory.mktemp("described"), system, "--describe")
        )
        return found

    return ask


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


NODES = {"pt2pt": (1, 2), "one_sided": (1, 2), "congestion": (2, 99)}
WITH_ALL_CORES = {**dict.fromkeys(names("collective"), 99), "mbw_mr": 2, "multi_lat": 2}


def can_run(benchmark: MpiBenchmark, placement: Placement, environment: dict[str, Any]) -> bool:
    """Whether an environment has the program of a benchmark for a placement."""
    features = set(environment["features"])
    needs = {"mpi"} | (set() if benchmark.in_probe else {"spack"})
    needs |= {"mpi4"} if benchmark.family == "persistent" else set()
    return needs <= features and environment["extras"]["mpi_family"] in families(
        placement.transport.name
    )


def expected_cases(system: str) -> set[tuple[str, str, str]]:
    """(benchmark, placement, environment) of every MPI case that the site's features allow."""
    site = yaml.safe_load((SUITE / "sites" / f"{system}.yaml").read_text())
    environments = {
        each["name"]: each
        for each in site["environments"]
        if "mpi" in each["features"] and "prefix_variable" not in each
    }
    cases = set()
    for partition in site["systems"][0]["partitions"]:
        features = set(partition["features"])
        counts = [int(f.partition("-")[2]) for f in features if re.fullmatch(r"nodes-\d+", f)]
        every = [*placements(counts), *placements(counts, full=True)]
        offered = [p for p in map(Placement.read, every) if set(p.features) <= features]
        for benchmark in MPI_BENCHMARKS.values():
            least, most = NODES.get(benchmark.family, (1, 99))
            few = {2} if benchmark.ranks is RanksRule.AT_LEAST_THREE else set()
            cases |= {
                (benchmark.name, str(placement), name)
                for placement in offered
                if least <= placement.num_nodes <= most
                if placement.num_nodes not in few
                if not placement.full
                or placement.num_nodes <= WITH_ALL_CORES.get(benchmark.name, 0)
                for name in environments.keys() & set(partition["environs"])
                if can_run(benchmark, placement, environments[name])
            }
    return cases


@pytest.mark.parametrize("system", SITES)
def test_the_matrix_is_what_the_site_offers(
    described: Callable[[str], list[dict[str, Any]]], system: str
) -> None:
    listed = {
        (check["benchmark"], check["placement"])
        for check in described(system)
        if "placement" in check
    }
    expected = {(benchmark, placement) for benchmark, placement, _ in expected_cases(system)}
    assert expected <= listed
    assert {case for case in listed - expected if case[0] in MPI_BENCHMARKS} == set()


def test_the_rdma_partition_of_the_testbed_is_for_rc_and_ud(reframe: Callable[..., str]) -> None:
    described = json.loads(reframe("testbed:rdma", "--describe"))
    placed = {(check["benchmark"], check.get("placement")) for check in described}
    mpi = {case for case in placed if case[0] in MPI_BENCHMARKS}
    assert mpi == {(name, f"{way}-2n") for name in PROBE_BENCHMARKS for way in ("rc", "ud")}


@pytest.mark.parametrize("system", OWN_SITES)
def test_the_whole_matrix_passes_a_dry_run(reframe: Callable[..., str], system: str) -> None:
    record = recorded_bytes()
    output = reframe(system, "--dry-run")
    assert recorded_bytes() == record, "a dry run measures nothing, so it records nothing"
    assert "0 failure(s)" in output
    ran = output.count("DRY")
    assert ran >= len(expected_cases(system)), output


def test_collectives_over_ud_wait_for_the_acceptance_run(
    described: Callable[[str], list[dict[str, Any]]],
) -> None:
    def placed(tag: str) -> set[str]:
        return {
            check["placement"]
            for check in described("testbed")
            if tag in check["tags"] and "collective" in check["tags"]
        }

    assert placed("acceptance") - placed("nightly") == {"ud-2n"}
    assert "rc-2n" in placed("nightly")


def test_a_prefix_switches_mvapich2_on_for_rc_ud_and_shm(
    reframe: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for compiler in ("mpicc", "mpicxx"):
        (tmp_path / "bin" / compiler).touch(mode=0o755)
    monkeypatch.setenv("FABRICHECK_MVAPICH2", str(tmp_path))
    listed = re.findall(
        r"^- (Mpi(?:PointToPoint|Collective) .*) /",
        reframe("testbed", "-l", "-p", "mvapich2"),
        re.MULTILINE,
    )
    assert {case.rpartition("=")[2] for case in listed} == {"rc-2n", "ud-2n", "shm-1n"}
    assert len(listed) == 3 * len(PROBE_BENCHMARKS)


def test_each_run_holds_the_one_before_it(
    described: Callable[[str], list[dict[str, Any]]],
) -> None:
    tags = {
        check["display_name"]: set(check["tags"])
        for check in described("testbed")
        # What looks after the fabric every night is no part of an acceptance campaign.
        if "health" not in check["tags"]
    }
    runs = [{name for name, found in tags.items() if run in found} for run in RUNS]
    for smaller, larger in itertools.pairwise(runs):
        assert smaller <= larger
    assert runs[-1] == {name for name in tags if not name.startswith("BenchBuild")}


def test_the_nightly_mode_is_the_tag(reframe: Callable[..., str]) -> None:
    found = [
        re.findall(r"^Found (\d+) check", reframe("local", option, "--list"), re.MULTILINE)
        for option in ("--mode=nightly", "--tag=^nightly$")
    ]
    assert found[0] == found[1]
    assert int(found[0][0]) > 0
