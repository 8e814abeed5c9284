"""A check that runs whatever the build of its environment gives it for a benchmark."""

import reframe as rfm
from reframe.core.builtins import fixture, run_before, sanity_function
from reframe.utility import sanity as sn

from fabricheck.programs.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.reframe_ext.build import BenchBuild


@rfm.simple_test
class UsesBuild(rfm.RunOnlyRegressionTest):
    build = fixture(BenchBuild, scope="environment")
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]

    @run_before("run")
    def launch(self) -> None:
        built = self.build.programs
        told = {
            "provider": built.provider,
            "command": " ".join(built.command(MPI_BENCHMARKS["latency"])),
            "own": built.program("rdma_stream"),
            "mpi": built.mpi_version,
            "ucx_info": built.ucx_info,
            **built.origin(),
        }
        self.executable = "echo"
        self.executable_opts = [f"'{name}={value}'" for name, value in told.items()]

    @sanity_function
    def told(self):
        return sn.assert_found("provider=", self.stdout)
