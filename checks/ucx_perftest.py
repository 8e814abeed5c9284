"""UCX without MPI: latency, bandwidth and message rate of each of its interfaces."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.reframe_ext.pair import cases
from fabricheck.reframe_ext.ucx_perftest import UcxPairBenchmark


@rfm.simple_test
class UcxPerftest(UcxPairBenchmark):
    descr = "UCX between a server and its client"
    case = parameter(cases("ucx"), type=tuple, fmt=":".join, loggable=False)
    time_limit = "3m"
