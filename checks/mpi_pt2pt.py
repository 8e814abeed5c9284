"""Point-to-point latency, bandwidth and message rate between two ranks, or between all in pairs."""

import reframe as rfm
from reframe.core.builtins import parameter, variable

from fabricheck.benchmarks.model import RanksRule
from fabricheck.benchmarks.registry import names
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark
from fabricheck.reframe_ext.offered import offered
from fabricheck.reframe_ext.transport_ratio import TransportRatio


@rfm.simple_test
class MpiPointToPoint(MpiBenchmark):
    descr = "MPI point-to-point between two ranks"
    benchmark = parameter(names("pt2pt"), type=str, loggable=True)
    placement = parameter(offered(most=2), type=str, loggable=True)
    time_limit = "3m"


@rfm.simple_test
class MpiPointToPointFull(MpiBenchmark):
    descr = "MPI point-to-point between pairs of all cores"
    benchmark = parameter(names("pt2pt", RanksRule.EVEN), type=str, loggable=True)
    placement = parameter(offered(most=2, full=True), type=str, loggable=True)
    time_limit = "5m"


@rfm.simple_test
class TransportOrder(TransportRatio):
    descr = "Shared memory is faster than TCP between nodes"
    benchmark = variable(str, value="transport_order", loggable=True)
    placement = variable(str, value="", loggable=True)
    measured_by = MpiPointToPoint
    slower = "tcp-2n"
    faster = "shm-1n"
    sizes = [8, 1 << 20]
    tags = {"smoke", "nightly", "acceptance", "full", "pt2pt"}
