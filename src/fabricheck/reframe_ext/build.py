"""Building what the checks run."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.builtins import run_before, sanity_function
from reframe.utility import sanity as sn

from fabricheck.provenance import SUITE

BENCH_SOURCES = SUITE / "src" / "bench"


class BenchBuild(rfm.CompileOnlyRegressionTest):
    """Builds ``src/bench`` with CMake, once for each MPI.

    The build folder outlives the run, so that the next one compiles only what has changed. Its
    name holds the MPI's compiler wrapper and that file's age, and the suite's own place: another
    MPI, an upgrade or a suite that was moved, which CMake would refuse, gets a fresh one.
    """

    descr = "Build of src/bench"
    sourcesdir = None
    build_system = "CMake"
    build_locally = True

    @run_before("compile")
    def configure(self) -> None:
        """Ask for an optimised build without its own tests, alone in its folder."""
        folder = self._folder
        folder.mkdir(parents=True, exist_ok=True)
        self.prebuild_cmds = [f"exec 9>{folder}/.lock && flock 9"]
        cmake: Any = self.build_system
        cmake.configuredir = str(BENCH_SOURCES)
        cmake.builddir = str(folder)
        cmake.config_opts = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DBUILD_TESTING=OFF"]
        cmake.max_concurrency = 2

    @sanity_function
    def find_program(self) -> object:
        """The build has left the program."""
        return sn.assert_true(
            Path(self.program).is_file(),
            msg=f"expected the program {self.program} after the build, found none",
        )

    @property
    def program(self) -> str:
        """Path of ``mpi_probe``."""
        return str(self._folder / "mpi_probe" / "mpi_probe")

    @property
    def yield_library(self) -> str:
        """Path of the library that makes idle ranks yield, for ``rank.sh``."""
        return str(self._folder / "yield_when_idle" / "libyield_when_idle.so")

    @property
    def _folder(self) -> Path:
        environ = self.current_environ
        wrapper = Path(shutil.which(environ.cxx) or environ.cxx).resolve()
        age = wrapper.stat().st_mtime_ns if wrapper.exists() else 0
        key = f"{SUITE} {environ.cxx} {wrapper} {age} {environ.modules}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:8]
        return SUITE / "build" / "bench" / f"{self.current_system.name}-{environ.name}-{digest}"
