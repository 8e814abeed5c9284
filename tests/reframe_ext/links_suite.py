"""A check whose bandwidth is a given share of what the link of its partition can carry."""

from types import MappingProxyType

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before

from fabricheck.judge.link_rate import Link, ceiling
from fabricheck.launch import judging
from fabricheck.launch.measurement import Evidence
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.reframe_ext import case
from fabricheck.transports.witness import Witness

MIB = 1 << 20
CARRIED = ceiling(100, MIB, 4096, Link.ETHERNET, datagram=False)
SEEN = Witness(0, "n1", "n1", "0", 0, {("rdma", "mlx5_0:1", "sent_pkts"): 300})

judging.read_witnesses = lambda _: [SEEN]


@rfm.simple_test
class OverLink(case.BenchmarkCase):
    """Measures one size of one benchmark, with no reference of its own."""

    share = parameter([0.5, 0.8, 0.95, 1.01], loggable=True)
    benchmark = case.measured_on(["bw"], ["rc-2n"])
    executable = "true"

    @run_after("init")
    def measure_one_size(self):
        values = MappingProxyType({(Metric.BANDWIDTH, "avg"): CARRIED * self.share})
        points = (Point(MIB, values, None, None),)
        self.valid_prog_environs = ["*"]
        self._measured.sizes = lambda _: (MIB,)
        self._measured.examine = lambda _: Evidence(
            curve=Curve("bw", "mpi_probe", "1", None, {}, points)
        )

    @run_before("run")
    def launch(self):
        """Nothing to launch."""

    def fabric_findings(self):
        return ()
