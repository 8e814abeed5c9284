"""Point-to-point latency, bandwidth and message rate between two ranks."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.transports import placements


@rfm.simple_test
class MpiPointToPoint(MpiBenchmark):
    descr = "MPI point-to-point between two ranks"
    benchmark = parameter(names("pt2pt"), type=str, loggable=True)
    placement = parameter(placements([1, 2]), type=str, loggable=True)
    time_limit = "3m"
    tags = {"smoke", "nightly", "pt2pt"}
