"""The whole matrix of every shipped system, gone through without running anything."""

import functools
import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.reframe_ext import warm

from fabricheck.measures.benchmark import RUNS, MpiBenchmark, RanksRule
from fabricheck.measures.gpu import GpuPath
from fabricheck.measures.registry import names
from fabricheck.programs.cuda_mpi.entries import BENCHMARKS as GPU_BENCHMARKS
from fabricheck.programs.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS
from fabricheck.transports.families import Statement, choice, families
from fabricheck.transports.placement import Placement, placements

pytestmark = pytest.mark.integration

SUITE = Path(__file__).resolve().parents[2]
SITES = sorted(path.stem for path in (SUITE / "sites").glob("*.yaml"))


LARGE = ("ib-2x16", "roce25g-8n", "seren-10n")
"""Sites of a thousand cases, whose dry runs take a minute each: every change lists their cases, and
goes through those of the smallest run; the laboratory goes through all."""


def of(system: str) -> pytest.MarkDecorator:
    """Tests that look at the same dry run, which takes half a minute, run in the same process."""
    return pytest.mark.xdist_group(f"matrix of {system}")


@pytest.fixture(scope="module")
def dry_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[dict[str, Any]]]:
    """Every case of a system, after a dry run of its whole matrix that passed."""

    @functools.cache
    def run(system: str) -> list[dict[str, Any]]:
        place = tmp_path_factory.mktemp(system)
        record = recorded_bytes()
        output = run_reframe(place, system, "--dry-run")
        assert recorded_bytes() == record, "a dry run measures nothing, so it records nothing"
        assert "0 failure(s)" in output
        (found,) = json.loads((place / "report.json").read_text())["runs"]
        return [case for case in found["testcases"] if not case["fixture"]]

    return run


@pytest.fixture
def reframe(tmp_path: Path) -> Callable[..., str]:
    return functools.partial(run_reframe, tmp_path)


def run_reframe(place: Path, system: str, *options: str, checks: str = "") -> str:
    """What ReFrame prints; of one check file, or of all."""
    done = warm.run(
        [
            f"--config-file={SUITE / 'reframe-config.py'}",
            f"--system={system}",
            "-c",
            SUITE / "checks" / checks,
            f"--stage={place / 'stage'}",
            f"--output={place / 'output'}",
            f"--report-file={place / 'report.json'}",
            warm.SERIALLY,
            *options,
        ],
        SUITE,
        {**os.environ, **warm.QUICKLY, "RFM_WARN_AS_ERROR": "1"},
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
    family, transport = environment["extras"]["mpi_family"], placement.transport.name
    if family not in families(transport):
        return False
    needs |= {"ofi"} if choice(family, transport).statement is Statement.PROVIDER else set()
    return needs <= features


def expected_cases(system: str) -> set[tuple[str, str, str]]:
    """(benchmark, placement, environment) of every MPI case that the site's features allow."""
    site = yaml.safe_load((SUITE / "sites" / f"{system}.yaml").read_text())
    environments = {
        each["name"]: each
        for each in site["environments"]
        if "mpi" in each["features"] and "prefix_variable" not in each
        if (SUITE / each.get("prefix", "")).is_dir()
    }
    cases = set()
    for partition in site["systems"][0]["partitions"]:
        features = set(partition["features"])
        counts = [int(f.partition("_")[2]) for f in features if re.fullmatch(r"nodes_\d+", f)]
        every = [*placements(counts), *placements(counts, layout="full")]
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
        cases |= {
            (benchmark, f"rc-2n@{port}", name)
            for port in partition.get("extras", {}).get("ports", ())
            for benchmark in ("latency", "bw")
            for name in environments.keys() & set(partition["environs"])
        }
    return cases


@pytest.mark.parametrize(
    "system",
    [
        pytest.param(name, marks=[of(name), *([pytest.mark.lab] if name in LARGE else [])])
        for name in SITES
    ],
)
def test_the_whole_matrix_passes_a_dry_run_and_is_what_the_site_offers(
    dry_run: Callable[[str], list[dict[str, Any]]], system: str
) -> None:
    cases = [case for case in dry_run(system) if "placement" in case]
    found = {(case["benchmark"], case["placement"], case["environ"]) for case in cases}
    assert {case for case in found if case[0] in MPI_BENCHMARKS} == expected_cases(system)
    smoke = {case["placement"] for case in cases if "smoke" in case["tags"]}
    between_nodes = {"tcp"} if system != "local" else set()
    assert {placement.partition("-")[0] for placement in smoke} >= {"shm"} | between_nodes


@pytest.mark.parametrize("system", LARGE)
def test_the_cases_of_a_large_site_are_what_it_offers(
    reframe: Callable[..., str], system: str
) -> None:
    listed = re.findall(
        # What others depend on stands below them.
        r"^[- ^]+\w+ %benchmark=(\w+) %transport=(\w+) %num_nodes=(\d+) /\w+ @\S+\+(\S+)$",
        reframe(system, "-lC"),
        re.MULTILINE,
    )
    found = {
        (benchmark, f"{transport}-{nodes}n", environ)
        for benchmark, transport, nodes, environ in listed
        if benchmark in MPI_BENCHMARKS
    }
    assert found == expected_cases(system)
    assert "0 failure(s)" in reframe(system, "--dry-run", "--tag=^smoke$")


@of("gpu-2n")
def test_a_site_with_gpus_measures_both_paths_of_their_data(
    dry_run: Callable[[str], list[dict[str, Any]]],
) -> None:
    cases = [case for case in dry_run("gpu-2n") if "placement" in case]
    found = {(case["benchmark"], case["placement"]) for case in cases}
    aware = {"cuda_ipc-1n", "cuda_copy-1n", "tcp_cuda-2n", "rc_cuda-2n", "rc_cuda_nogdr-2n"}
    staged = {"shm-1n", "tcp-2n", "rc-2n"}
    direct = {"cuda_ipc-1n", "rc_cuda-2n"}
    for name, entry in GPU_BENCHMARKS.items():
        places = staged if entry.path is GpuPath.STAGED else aware
        places = places - direct if entry.memory == "managed" else places
        assert {place for benchmark, place in found if benchmark == name} == places
    assert {("aware_over_staged", place) for place in direct} <= found
    assert ("matmul_gpu_aware_blocking_np2", "rc_cuda-2n") in found
    assert ("matmul_gpu_staged_blocking_np2", "rc-2n") in found


@of("testbed")
def test_the_rdma_partition_of_the_testbed_is_for_rc_and_ud(
    dry_run: Callable[[str], list[dict[str, Any]]],
) -> None:
    cases = [case for case in dry_run("testbed") if case["partition"] == "rdma"]
    placed = {(case["benchmark"], case.get("placement")) for case in cases}
    mpi = {case for case in placed if case[0] in MPI_BENCHMARKS}
    assert mpi == {(name, f"{way}-2n") for name in PROBE_BENCHMARKS for way in ("rc", "ud")}


@of("testbed")
def test_collectives_over_ud_wait_for_the_acceptance_run(
    dry_run: Callable[[str], list[dict[str, Any]]],
) -> None:
    def placed(tag: str) -> set[str]:
        return {
            case["placement"]
            for case in dry_run("testbed")
            if tag in case["tags"] and "collective" in case["tags"]
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
    listed = [
        case
        for checks in ("mpi_pt2pt.py", "mpi_collective.py")
        for case in re.findall(
            r"^- .*%transport=(\w+) %num_nodes=(\d+) /",
            reframe("testbed", "-l", "-p", "mvapich2", checks=checks),
            re.MULTILINE,
        )
    ]
    assert set(listed) == {("rc", "2"), ("ud", "2"), ("shm", "1")}
    assert len(listed) == 3 * len(PROBE_BENCHMARKS)


@of("testbed")
def test_each_run_holds_the_one_before_it(
    dry_run: Callable[[str], list[dict[str, Any]]],
) -> None:
    tags = {
        case["display_name"]: set(case["tags"])
        for case in dry_run("testbed")
        # What looks after the fabric every night is no part of an acceptance campaign.
        if "health" not in case["tags"]
    }
    runs = [{name for name, found in tags.items() if run in found} for run in RUNS]
    for smaller, larger in itertools.pairwise(runs):
        assert smaller <= larger
    assert runs[-1] == set(tags)


def test_the_nightly_mode_is_the_tag(reframe: Callable[..., str]) -> None:
    found = [
        re.findall(
            r"^Found (\d+) check",
            reframe("local", option, "--list", checks="mpi_pt2pt.py"),
            re.MULTILINE,
        )
        for option in ("--mode=nightly", "--tag=^nightly$")
    ]
    assert found[0] == found[1]
    assert int(found[0][0]) > 0
