"""Point-to-point latency, bandwidth and message rate between two ranks, or between all in pairs."""

import reframe as rfm

from fabricheck.launch.cases import Case, available_placements, cases, cases_of_ports
from fabricheck.measures.benchmark import RanksRule
from fabricheck.measures.registry import names
from fabricheck.programs.osu.ratio import LatencyRatio
from fabricheck.reframe_ext.case import BuiltCase, measured_on, over
from fabricheck.reframe_ext.ratio import RatioCase


@rfm.simple_test
class MpiPointToPoint(BuiltCase):
    descr = "MPI point-to-point between two ranks"
    benchmark = over(
        [
            *cases(names("pt2pt"), available_placements(max_nodes=2)),
            *cases_of_ports(("latency", "bw"), "rc"),
        ]
    )
    time_limit = "3m"


@rfm.simple_test
class MpiPointToPointFull(BuiltCase):
    descr = "MPI point-to-point between pairs of all cores"
    benchmark = measured_on(
        names("pt2pt", RanksRule.EVEN), available_placements(max_nodes=2, layout="full")
    )
    time_limit = "5m"


@rfm.simple_test
class MpiSwitchGroup(BuiltCase):
    descr = "MPI bandwidth between two nodes of one leaf switch, and of two"
    benchmark = measured_on(
        ["bw"],
        [
            *available_placements(min_nodes=2, max_nodes=2, layout="leaf"),
            *available_placements(min_nodes=2, max_nodes=2, layout="spine"),
        ],
    )
    time_limit = "3m"


@rfm.simple_test
class TransportOrder(RatioCase):
    descr = "Shared memory is faster than TCP between nodes"
    benchmark = measured_on(["transport_order"], ["tcp-2n"])
    ratio_of = staticmethod(
        lambda _: LatencyRatio(Case("latency", "tcp-2n"), Case("latency", "shm-1n"), (8, 1 << 20))
    )
    measured_by = MpiPointToPoint
