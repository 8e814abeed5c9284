"""A check whose bandwidth is a given share of what the link of its partition can carry."""

from types import MappingProxyType

import reframe as rfm
from reframe.core.builtins import parameter, variable

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.judge.link_rate import Link, ceiling
from fabricheck.reframe_ext import curve_benchmark
from fabricheck.reframe_ext.evidence import Evidence
from fabricheck.transports.witness import Witness

MIB = 1 << 20
CARRIED = ceiling(100, MIB, 4096, Link.ETHERNET, datagram=False)
SEEN = Witness(0, "n1", "n1", "0", 0, {("rdma", "mlx5_0:1", "sent_pkts"): 300})

curve_benchmark.read_witnesses = lambda _: [SEEN]


@rfm.simple_test
class OverLink(curve_benchmark.CurveBenchmark):
    """Measures one size of one benchmark, with no reference of its own."""

    share = parameter([0.5, 0.8, 0.95, 1.01], loggable=True)
    benchmark = variable(str, value="bw", loggable=True)
    placement = variable(str, value="rc-2n", loggable=True)
    valid_prog_environs = ["*"]  # noqa: RUF012 - a ReFrame variable, copied for each test
    executable = "true"

    def sizes(self):
        return (MIB,)

    def fabric_findings(self):
        return ()

    def examine(self):
        values = MappingProxyType({(Metric.BANDWIDTH, "avg"): CARRIED * self.share})
        points = (Point(MIB, values, None, None),)
        return Evidence(curve=Curve("bw", "mpi_probe", "1", None, {}, points))
