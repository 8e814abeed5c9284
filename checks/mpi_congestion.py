"""Bandwidth of all nodes into one, and of one to all."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.offered import offered


@rfm.simple_test
class MpiCongestion(MpiBenchmark):
    descr = "MPI bandwidth of many nodes against one"
    benchmark = parameter(names("congestion"), type=str, loggable=True)
    placement = parameter(offered(least=2), type=str, loggable=True)
    time_limit = "5m"
