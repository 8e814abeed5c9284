"""Verbs without UCX and MPI: latency and bandwidth of each operation over each connection."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.reframe_ext.pair import cases
from fabricheck.reframe_ext.perftest import Perftest


@rfm.simple_test
class VerbsPerftest(Perftest):
    descr = "Verbs between a server and its client"
    case = parameter(cases("verbs"), type=tuple, fmt=":".join, loggable=False)
    time_limit = "5m"
