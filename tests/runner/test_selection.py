import os
import shutil
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.config import find_system
from fabricheck.runner.selection import RunSelection, check, job_options, lacking
from fabricheck.schedulers import slurm

SITE = """
systems:
  - name: cluster
    descr: test
    hostnames: [x]
    partitions:
      - {name: all, scheduler: local, launcher: local, environs: [mpi], features: [tcp, nodes_2]}
environments:
  - {name: mpi, cxx: sh, target_systems: [cluster], extras: {mpi_family: mpich}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "sites").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "sites" / "cluster.yaml").write_text(SITE)
    return tmp_path


def test_what_exists_is_accepted(suite: Path) -> None:
    check(suite, RunSelection("cluster", ("latency",), ("tcp",), ("mpi",)))


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (RunSelection("klaster"), r"expected a system of sites/ \(cluster\), found 'klaster'"),
        (RunSelection("cluster", benchmarks=("latenzy",)), "unknown benchmark 'latenzy'"),
        (RunSelection("cluster", transports=("ib",)), "expected a transport of the table"),
        (
            RunSelection("cluster", transports=("rc",)),
            "'rc', which needs the feature 'rdma",
        ),
        (RunSelection("cluster", nodes=(2, 4)), "found 4 nodes, which needs .*nodes_4"),
        (RunSelection("cluster", environments=("lam",)), r"environment of system cluster \(mpi\)"),
        (RunSelection("cluster", tags=("weekly",)), "expected a tag of smoke, nightly, acceptance"),
    ],
)
def test_what_is_not_there_is_named(suite: Path, selection: RunSelection, message: str) -> None:
    with pytest.raises(FabricheckError, match=message):
        check(suite, selection)


def test_a_missing_mpi_is_named(suite: Path) -> None:
    site = suite / "sites" / "cluster.yaml"
    site.write_text(site.read_text().replace("cxx: sh", "cxx: mpicxx.nowhere"))
    with refused("FC0409", r"compiler mpicxx\.nowhere of environment mpi"):
        check(suite, RunSelection("cluster"))


def test_an_mpi_that_is_not_installed_is_said_to_whom_it_concerns(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = suite / "sites" / "cluster.yaml"
    more = "  - {name: mv2, prefix_variable: MV2, cc: sh, cxx: sh, target_systems: [cluster], "
    site.write_text(SITE + more + "extras: {mpi_family: mvapich2}}\n")
    said = ["nothing with environment mv2: the variable MV2 names no installation prefix"]
    assert lacking(suite, RunSelection("cluster")) == said
    assert lacking(suite, RunSelection("cluster", transports=("tcp", "ud"))) == said
    assert lacking(suite, RunSelection("cluster", environments=("mv2",))) == said
    assert lacking(suite, RunSelection("cluster", transports=("tcp",))) == []
    assert lacking(suite, RunSelection("cluster", environments=("mpi",))) == []
    monkeypatch.setenv("MV2", "/opt/mv2")
    assert lacking(suite, RunSelection("cluster")) == []


@pytest.mark.parametrize("text", ["a: [", "just text", "systems: []"])
def test_a_malformed_site_is_named(suite: Path, text: str) -> None:
    (suite / "sites" / "cluster.yaml").write_text(text)
    with refused("FC0502", r"cluster\.yaml"):
        check(suite, RunSelection("cluster"))


def test_a_malformed_reference_file_is_named_with_its_line(suite: Path) -> None:
    (suite / "references" / "cluster.yaml").write_text("rules:\n- for: [\n")
    with refused("FC0104", r"cluster\.yaml: line \d"):
        check(suite, RunSelection("cluster"))


def test_the_selection_becomes_options_of_reframe() -> None:
    chosen = RunSelection("testbed", ("bw",), ("tcp", "shm"), ("mpich",), ("nightly",), (2,))
    terms = "benchmark in ('bw',) and transport in ('tcp', 'shm') and num_nodes in (2,)"
    options = ["--system=testbed", "-E", terms, "-p", "^(mpich)$", "--tag=^nightly$"]
    assert chosen.reframe_options() == options


@pytest.mark.parametrize(
    ("placement", "environment", "held"),
    [
        ("tcp-2n", "mpich", True),
        ("tcp-2n-full", "", True),
        ("tcp-2n", "openmpi", False),
        ("tcp-4n", "mpich", False),
        ("shm-1n", "mpich", False),
        ("", "mpich", False),
    ],
)
def test_a_case_is_of_the_part_that_reframe_would_select(
    placement: str, environment: str, held: bool
) -> None:
    part = RunSelection("testbed", ("bw",), ("tcp",), ("mpich",), ("smoke",), (2,))
    assert part.holds("bw", placement, environment) is held
    assert not part.holds("latency", placement, environment)
    assert RunSelection("testbed").holds("bw", placement, environment)


def test_the_shipped_sites_are_accepted(request: pytest.FixtureRequest) -> None:
    for system in ("testbed", "local"):
        if shutil.which("mpicxx.openmpi") and shutil.which("mpicxx.mpich"):
            check(request.config.rootpath, RunSelection(system))


@pytest.mark.parametrize(
    ("chosen", "needed"),
    [
        ({}, True),
        ({"transports": ("rc",)}, True),
        ({"transports": ("hybrid",)}, True),
        ({"transports": ("tcp", "shm", "ob1_tcp")}, False),
        ({"tags": ("smoke",)}, True),
        ({"tags": ("allreduce-lab",)}, False),
        ({"tags": ("fabric-health",)}, True),
    ],
)
def test_rdma_devices_are_needed_only_by_what_uses_them(
    chosen: dict[str, tuple[str, ...]], needed: bool
) -> None:
    assert RunSelection("testbed", **chosen).needs("rdma") is needed  # type: ignore[arg-type]


def test_only_programs_that_the_selection_may_start_are_built():
    assert RunSelection("testbed", tags=("smoke",)).programs() == ["mpi_probe"]
    assert RunSelection("testbed", benchmarks=("ib_send_lat",)).programs() == []
    assert RunSelection("testbed", benchmarks=("matmul_blocking_np2",)).programs() == ["mpi_matmul"]
    assert {"mpi_probe", "rdma_stream"} <= set(RunSelection("testbed").programs())


def test_an_environment_that_is_left_out_says_why_and_none_at_all_is_refused(suite: Path) -> None:
    site = suite / "sites" / "cluster.yaml"
    site.write_text(site.read_text().replace("cxx: sh", "cxx: sh, needs: [no-such-program]"))
    with refused("FC0411", "'mpi', which is left out, since no-such-program is not on PATH"):
        check(suite, RunSelection("cluster", environments=("mpi",)))
    with refused("FC2906", "nothing with environment mpi: no-such-program is not on PATH"):
        check(suite, RunSelection("cluster"))


NOTHING = dict.fromkeys(("nodelist", "exclude", "reservation", "account", "time"), "")


def test_what_jobs_ask_goes_to_the_scheduler(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FABRICHECK_TIME", "FABRICHECK_MAX_JOBS"):
        monkeypatch.setenv(name, "")
    site = suite / "sites" / "cluster.yaml"
    site.write_text(site.read_text().replace("scheduler: local", "scheduler: lsf"))
    asked = {**NOTHING, "account": "proj", "reservation": "maint", "time": "20m", "maxjobs": 3}
    assert job_options(suite, "cluster", asked) == ["--job-option=-U maint", "--job-option=-P proj"]
    assert find_system(suite, "cluster")[1]["partitions"][0]["max_jobs"] == 3
    assert os.environ["FABRICHECK_TIME"] == "20m"
    assert job_options(suite, "cluster", {**NOTHING, "maxjobs": None}) == []
    assert "max_jobs" not in find_system(suite, "cluster")[1]["partitions"][0]


def test_nodes_are_asked_for_on_the_login_node_of_the_system(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The testbed's Slurm answers nowhere else."""
    site = suite / "sites" / "cluster.yaml"
    site.write_text(site.read_text().replace("scheduler: local", "scheduler: slurm"))
    asked: list[list[str]] = []
    monkeypatch.setattr(slurm, "ask", lambda words, _: asked.append(words) or "n1 idle\nn2 idle\n")
    chosen = {**NOTHING, "nodelist": "n1", "maxjobs": None}
    assert job_options(suite, "cluster", chosen) == ["--job-option=--exclude=n2"]
    assert asked[0][0].endswith("/bin/path/on-login")
    assert asked[0][1:3] == ["cluster", "sinfo"]


def test_what_a_scheduler_can_not_do_is_refused(suite: Path) -> None:
    with refused("FC0941", r"scheduler local of partition all takes \(none\), found --account"):
        job_options(suite, "cluster", {**NOTHING, "account": "proj", "maxjobs": None})
    with refused("FC0942", "found '5 parsecs'"):
        job_options(suite, "cluster", {**NOTHING, "time": "5 parsecs", "maxjobs": None})
    site = suite / "sites" / "cluster.yaml"
    other = "\n      - {name: two, scheduler: SCHEDULER, launcher: local, environs: [mpi]}"
    text = site.read_text().replace("scheduler: local", "scheduler: torque")
    for scheduler, account in (("lsf", "FC0943"), ("pbs", "")):
        one = other.replace("SCHEDULER", scheduler)
        site.write_text(text.replace("[tcp, nodes_2]}", f"[tcp, nodes_2]}}{one}"))
        asked = {**NOTHING, "account": "proj", "maxjobs": None}
        if account:
            with refused(account, "of all and two, which take other words"):
                job_options(suite, "cluster", asked)
        else:
            assert job_options(suite, "cluster", asked) == ["--job-option=-A proj"]
