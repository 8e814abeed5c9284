"""A new MPI family is one row: site init, plan, job, proof and node health all take it."""

import csv
import shutil
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.node_health.survey import node, survey
from tests.planning.test_site import SAID, SRUN, cluster
from tests.refusals import refused

from fabricheck.judge.levels import Level
from fabricheck.launch import mpi
from fabricheck.launch.measurement import Setting
from fabricheck.node_health.nodes import probe_arguments
from fabricheck.node_health.rules import judge
from fabricheck.planning.site_init import gather, write
from fabricheck.reframe_ext.config import usable_sites
from fabricheck.schedulers import launcher_of
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.sites.files import read
from fabricheck.transports.families import MPIS, choice, families, read_mpis
from fabricheck.transports.placement import Placement
from fabricheck.transports.settings import listing
from fabricheck.transports.statement import read_report
from fabricheck.transports.table import find
from fabricheck.transports.witness import Witness

TABLES = Path(read_mpis.__code__.co_filename).parent
# Over UCX, by libfabric's provider mlx, as Intel's reference of the library has it; not run here.
ROW = {
    "name": "another",
    "printed": "Intel(R) MPI Library",
    "command": "mpirun --version",
    "least": "2021.6",
    "launcher": "Intel(R) MPI Library",
    "spec": "^intel-oneapi-mpi",
    "compilers": "mpiicx mpiicpx",
    "pmi": "pmi2",
    "hosts": "-f {}",
    "ucx": "I_MPI_FABRICS=ofi I_MPI_OFI_PROVIDER=mlx",
}
VERSION = "Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619 (id: c2e19c2f3e)"


@pytest.fixture(autouse=True)
def _with_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("mpi.csv", "choices.csv"):
        shutil.copy(TABLES / table, tmp_path)
    with (tmp_path / "mpi.csv").open("a") as file:
        csv.DictWriter(file, [each.name for each in fields(MPIS["openmpi"])][:-1]).writerow(ROW)
    monkeypatch.setitem(MPIS, "another", read_mpis(tmp_path)["another"])  # type: ignore[arg-type]


def test_a_site_with_it_is_written_and_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, said in {"mpiicx": "icx", "spack": "another ~cuda\n"}.items():
        monkeypatch.setitem(SAID, name, said)
    (tmp_path / "sites").mkdir()
    path = tmp_path / "sites" / "hpc.yaml"
    write(path, "hpc", gather(cluster, SRUN), "^login$")
    environment = read(path)["environments"][0]
    assert (environment["cc"], environment["cxx"]) == ("mpiicx", "mpiicpx")
    extras = EnvironmentExtras.of(environment["extras"])
    assert (extras.mpi_family, extras.pmi) == ("another", "pmi2")
    assert extras.mpi_spec == ROW["spec"]
    assert usable_sites(tmp_path).broken == {}


def test_one_machine_with_its_launcher_has_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SAID, "mpiicx", "icx")
    monkeypatch.setitem(SAID, "mpirun", VERSION)
    assert gather(cluster, alone=True).mpis == ("another",)


def test_its_cases_are_planned_and_started() -> None:
    assert "+mpi %mpi_family=another" in mpi.with_family("rc", "tcp")
    assert "another" not in families("ob1_tcp")
    setting = Setting(
        extras=PartitionExtras(ucx_net_devices={"rdma": "mlx5_0:1"}),
        launcher="mpirun",
        mpi="another",
        build=SimpleNamespace(ucx_info=""),  # type: ignore[arg-type]
    )
    job = mpi.start(Placement(find("rc"), 2), setting, ["program"])
    wanted = {"I_MPI_OFI_PROVIDER": "mlx", "UCX_TLS": "rc,self", "UCX_NET_DEVICES": "mlx5_0:1"}
    assert wanted.items() <= job.variables.items()
    assert job.launcher_options == []
    assert listing([0, 1], 2, launcher_of("mpirun"), "another").options == ["-f", "hosts.list"]


@pytest.mark.parametrize(("transport", "objections"), [("rc", 0), ("tcp", 1)])
def test_what_ucx_logs_below_it_is_its_proof(
    tmp_path: Path, transport: str, objections: int
) -> None:
    """The log is one of MPICH; UCX writes it the same way below every MPI."""
    recorded = Path(__file__).parents[1] / "data" / "ucx" / "1.20.1-rc-mpich.txt"
    for rank in (0, 1):
        shutil.copy(recorded, tmp_path / f"ucx.n{rank + 1}.{rank + 7}.log")
    ranks = [Witness(rank, f"n{rank + 1}", "", "0", 0, {}) for rank in (0, 1)]
    chosen = choice("another", transport)
    said = read_report(find(transport), chosen, tmp_path, "", ranks, interfaces=(), offers=())
    assert bool(said.objections) == bool(objections)


@pytest.mark.parametrize(
    ("version", "level"),
    [
        (VERSION, Level.GOOD),
        (VERSION.replace("2021.10", "2021.5"), Level.CRITICAL),
        ("HYDRA build details", Level.CRITICAL),
    ],
)
def test_nodes_are_asked_for_its_version(version: str, level: Level) -> None:
    asked = probe_arguments("another", "/opt/intel/bin/mpiicx")
    assert asked == ["another=/opt/intel/bin=mpirun --version", "ucx", "osu"]
    versions = {"another": version, "ucx": "Version 1.13.1", "osu": "OSU Test v7.4"}
    lines = judge(survey(node(versions=versions), family="another"))
    assert {line.level for line in lines if line.rule == "mpi version"} == {level}


@pytest.mark.parametrize("column", [*ROW, "given", "alone"])
def test_a_table_without_a_column_is_refused(tmp_path: Path, column: str) -> None:
    (first, header, *others) = (tmp_path / "mpi.csv").read_text().partition("\nname,")
    assert header
    (tmp_path / "mpi.csv").write_text(
        "".join([first, header, *others]).replace(f",{column}", "", 1)
        if column != "name"
        else first + "\nnames," + others[0]
    )
    with refused("FC0113", r"mpi.csv: line \d+: expected the columns name, pri"):
        read_mpis(tmp_path)
