"""Which MPIs site init finds: by loaded modules, and by names that no other MPI has."""

from pathlib import Path

import pytest
from tests.planning.test_site import SAID, SRUN, cluster

from fabricheck.planning.site_init import gather, write
from fabricheck.sites.files import read


@pytest.mark.parametrize(
    ("loaded", "family", "module"),
    [
        ("gcc/12:openmpi/5.0.11", "openmpi", "openmpi/5.0.11"),
        ("oneapi/intel-oneapi-mpi/2021.18", "intelmpi", "oneapi/intel-oneapi-mpi/2021.18"),
    ],
)
def test_a_loaded_module_becomes_an_environment_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: str, family: str, module: str
) -> None:
    monkeypatch.setitem(SAID, "spack", "")
    monkeypatch.setenv("LOADEDMODULES", loaded)
    path = tmp_path / "hpc.yaml"
    write(path, "hpc", gather(cluster, SRUN), "^login$")
    first, mpich, _ = read(path)["environments"]
    assert (first["name"], first["modules"], first["cc"]) == (family, [module], "mpicc")
    assert (mpich["name"], "modules" in mpich) == ("mpich", False)


def test_only_names_of_its_own_tell_intel_mpi_from_another_mpicc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LOADEDMODULES", raising=False)
    monkeypatch.setitem(SAID, "mpicc", "gcc")
    assert gather(cluster, SRUN).mpis == ("mpich",)
    monkeypatch.setitem(SAID, "mpigcc", "gcc")
    assert gather(cluster, SRUN).mpis == ("mpich", "intelmpi")
