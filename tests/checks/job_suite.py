"""One benchmark on every placement of two nodes or one, whether any site offers it or not."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.transports import placements


@rfm.simple_test
class EveryTransport(MpiBenchmark):
    descr = "MPI latency"
    benchmark = parameter(["latency"], type=str, loggable=True)
    placement = parameter(placements([1, 2]), type=str, loggable=True)
    time_limit = "3m"
