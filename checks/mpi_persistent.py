"""Latency of the persistent collectives of MPI 4."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.offered import offered


@rfm.simple_test
class MpiPersistent(MpiBenchmark):
    descr = "MPI persistent collective over all ranks"
    benchmark = parameter(names("persistent"), type=str, loggable=True)
    placement = parameter(offered(), type=str, loggable=True)
    time_limit = "5m"
    acceptance_only = ["ud"]
