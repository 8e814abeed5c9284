"""Latency of the collectives with neighbours on a ring."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.offered import offered


@rfm.simple_test
class MpiNeighborhood(MpiBenchmark):
    descr = "MPI collective with neighbours"
    benchmark = parameter(names("neighborhood"), type=str, loggable=True)
    placement = parameter([*offered(most=1), *offered(least=3)], type=str, loggable=True)
    time_limit = "5m"
    acceptance_only = ["ud"]
