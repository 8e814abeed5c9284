"""Latency of the collectives, inside a node and over two nodes and more."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.offered import offered


@rfm.simple_test
class MpiCollective(MpiBenchmark):
    descr = "MPI collective over all ranks"
    benchmark = parameter(names("collective"), type=str, loggable=True)
    placement = parameter([*offered(), *offered(full=True)], type=str, loggable=True)
    time_limit = "5m"
    acceptance_only = ["ud"]
