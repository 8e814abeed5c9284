"""UCX without MPI: latency, bandwidth and message rate of each of its interfaces."""

import reframe as rfm

from fabricheck.reframe_ext.case import BenchmarkCase, measured


@rfm.simple_test
class UcxPerftest(BenchmarkCase):
    descr = "UCX between a server and its client"
    benchmark = measured("ucx")
    time_limit = "3m"
