"""Latency and bandwidth of windows: put, get, accumulate and the atomics."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.offered import offered


@rfm.simple_test
class MpiOneSided(MpiBenchmark):
    descr = "MPI one-sided between two ranks"
    benchmark = parameter(names("one_sided"), type=str, loggable=True)
    placement = parameter(offered(most=2), type=str, loggable=True)
    time_limit = "3m"
