"""Spack recipe of the benchmark programs under src/bench."""

from pathlib import Path

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.cmake import CMakePackage

_SOURCES = Path(__file__).resolve().parents[4] / "bench"


class FabricheckBench(CMakePackage):
    """Benchmark programs of the fabricheck suite, for MPI, verbs, and both with computation."""

    license("BSD-3-Clause")

    # The sources are those of the checkout that this recipe is in, so nothing is downloaded, and a
    # lock file fits every checkout. `spack develop` builds those of another one.
    has_code = False
    version("0.1.0")

    variant("mpi", default=True, description="Build the programs that need MPI")
    variant("verbs", default=True, description="Build the programs that need libibverbs")
    variant("blas", default=True, when="+mpi", description="Build the programs that need a BLAS")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("rdma-core", when="+verbs")
    depends_on("openblas", when="+blas")

    @property
    def root_cmakelists_dir(self):
        """The sources: this checkout's, or those that are being developed."""
        developed = "dev_path" in self.spec.variants
        return self.stage.source_path if developed else str(_SOURCES)

    def cmake_args(self):
        """Build what the variants name, with the compiler wrapper of the spec's own MPI.

        The suite builds and runs the unit tests itself.
        """
        arguments = [
            self.define("BUILD_TESTING", False),
            self.define_from_variant("FABRICHECK_MPI", "mpi"),
            self.define_from_variant("FABRICHECK_VERBS", "verbs"),
            self.define_from_variant("FABRICHECK_BLAS", "blas"),
            # Never what the machine has beside the spec, which names neither gloo nor hiredis.
            self.define("FABRICHECK_BLAS_VENDORS", "OpenBLAS"),
            self.define("FABRICHECK_GLOO", "OFF"),
        ]
        if self.spec.satisfies("+mpi"):
            arguments.append(self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx))
        return arguments
