"""Spack recipe of the benchmark programs under src/bench."""

from spack.package import depends_on, license, version
from spack_repo.builtin.build_systems.cmake import CMakePackage


class FabricheckBench(CMakePackage):
    """MPI benchmarks of the fabricheck suite: OSU's methods, with percentiles and validation."""

    license("BSD-3-Clause")

    # No URL: the sources are those of the checkout, whose place spack.yaml names under `develop`.
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi")

    def cmake_args(self):
        """Build the programs only; the suite builds and runs their unit tests itself."""
        return [self.define("BUILD_TESTING", False)]
