"""Point-to-point latency, bandwidth and message rate between two ranks."""

import reframe as rfm
from reframe.core.builtins import parameter, variable

from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.transport_ratio import TransportRatio
from fabricheck.transports import placements


@rfm.simple_test
class MpiPointToPoint(MpiBenchmark):
    descr = "MPI point-to-point between two ranks"
    benchmark = parameter(names("pt2pt"), type=str, loggable=True)
    placement = parameter(placements([1, 2]), type=str, loggable=True)
    time_limit = "3m"
    tags = {"smoke", "nightly", "acceptance", "pt2pt"}


@rfm.simple_test
class TransportOrder(TransportRatio):
    descr = "Shared memory is faster than TCP between nodes"
    benchmark = variable(str, value="transport_order", loggable=True)
    placement = variable(str, value="", loggable=True)
    measured_by = MpiPointToPoint
    slower = "tcp-2n"
    faster = "shm-1n"
    sizes = [8, 1 << 20]
    tags = {"smoke", "nightly", "acceptance", "pt2pt"}
