"""Latency of the collectives, inside a node and over two nodes and more."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.transports import placements


@rfm.simple_test
class MpiCollective(MpiBenchmark):
    descr = "MPI collective over all ranks"
    benchmark = parameter(names("collective"), type=str, loggable=True)
    placement = parameter(placements([1, 2, 4, 8, 16]), type=str, loggable=True)
    time_limit = "3m"
    tags = {"nightly", "acceptance", "collective"}
    acceptance_only = ["ud"]
