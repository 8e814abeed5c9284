"""Building ``src/bench`` with CMake, in a folder that outlives the run."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.provenance import SUITE, home

BENCH_SOURCES = SUITE / "src" / "bench"
PROBE = "mpi_probe"
WANTED = "FABRICHECK_PROGRAMS"
"""The environment variable that names the programs that a run starts, with ``:`` between them; all
are built where it is not set."""
_ALWAYS = (PROBE, "yield_when_idle")


class CMakeBuild:
    """Builds our own programs with CMake for one environment.

    The build folder outlives the run, so that the next one compiles only what has changed. Its
    name holds the MPI's compiler wrapper and that file's age, and the suite's own place: another
    MPI, an upgrade or a suite that was moved, which CMake would refuse, gets a fresh one. An
    environment without MPI gets the programs that need none, from the system's compiler.
    """

    provider = PROBE
    build_system = "CMake"
    mpi_version = ""
    ucx_info = ""

    def __init__(self, system: str, environ: Any) -> None:
        self._has_mpi = "mpi" in environ.features
        self._cxx = environ.cxx if self._has_mpi else "c++"
        wrapper = Path(shutil.which(self._cxx) or self._cxx).resolve()
        age = wrapper.stat().st_mtime_ns if wrapper.exists() else 0
        key = f"{SUITE} {self._cxx} {wrapper} {age} {environ.modules}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:8]
        self._folder = home() / "build" / "bench" / f"{system}-{environ.name}-{digest}"

    def before(self) -> list[str]:
        """Commands before the build: one build at a time in a folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return [f"exec 9>{self._folder}/.lock && flock 9"]

    def configure(self, cmake: Any) -> None:
        """Ask ReFrame's build system for an optimised build without its own tests."""
        cmake.configuredir = str(BENCH_SOURCES)
        cmake.builddir = str(self._folder)
        cmake.config_opts = [
            "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
            "-DCMAKE_UNITY_BUILD=ON",
            "-DBUILD_TESTING=OFF",
            f'-DFABRICHECK_PROGRAMS="{";".join(_programs())}"',
        ]
        if not self._has_mpi:
            cmake.cc, cmake.cxx, cmake.ftn = "cc", self._cxx, ""
            cmake.config_opts.append("-DFABRICHECK_MPI=OFF")
        cmake.max_concurrency = 2

    def after(self) -> list[str]:
        """Commands after the build: none."""
        return []

    def command(self, benchmark: MpiBenchmark) -> list[str]:
        """The program that measures a benchmark of MPI, and its first arguments."""
        return [self.program(PROBE), benchmark.name]

    def program(self, name: str) -> str:
        """Path of one of our programs."""
        return str(self._folder / name / name)

    def origin(self) -> dict[str, str]:
        """What the record should say of the build beside the commit: nothing."""
        return {}

    @property
    def yield_library(self) -> str:
        """Path of the library that makes idle ranks yield, for ``rank.sh``."""
        return str(self._folder / "yield_when_idle" / "libyield_when_idle.so")

    def missing(self) -> str:
        """What the build should have left and did not; empty if it is all there."""
        if not self._has_mpi or Path(self.program(PROBE)).is_file():
            return ""
        return f"expected the program {self.program(PROBE)} after the build, found none"


def _programs() -> list[str]:
    """The programs to build; none for all."""
    wanted = os.environ.get(WANTED)
    return [] if wanted is None else sorted({*filter(None, wanted.split(":")), *_ALWAYS})
