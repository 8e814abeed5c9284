"""How long it takes to start ranks, and until MPI_Init ends."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_startup import StartupBenchmark
from fabricheck.reframe_ext.offered import offered


@rfm.simple_test
class MpiStartup(StartupBenchmark):
    descr = "Start of an MPI job"
    benchmark = parameter(names("startup"), type=str, loggable=True)
    placement = parameter(offered(), type=str, loggable=True)
    time_limit = "5m"
