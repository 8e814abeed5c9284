"""Building what the checks run."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_before, sanity_function
from reframe.utility import sanity as sn

BENCH_SOURCES = Path(__file__).resolve().parents[2] / "bench"


class BenchBuild(rfm.CompileOnlyRegressionTest):
    """Builds ``src/bench`` with CMake, once for each MPI.

    Attributes:
        prefix_bin: folder of the programs, below the stage directory.
    """

    descr = "Build of src/bench"
    sourcesdir = str(BENCH_SOURCES)
    build_system = "CMake"
    build_locally = True

    @run_before("compile")
    def configure(self) -> None:
        """Ask for an optimised build without its own tests."""
        self.build_system.builddir = "build"
        self.build_system.config_opts = [
            "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
            "-DBUILD_TESTING=OFF",
        ]
        self.build_system.max_concurrency = 2

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
        return str(Path(self.stagedir) / "build" / "mpi_probe" / "mpi_probe")
