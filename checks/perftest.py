"""Verbs without UCX and MPI: latency and bandwidth of each operation over each connection."""

import reframe as rfm

from fabricheck.reframe_ext.case import BenchmarkCase, measured


@rfm.simple_test
class VerbsPerftest(BenchmarkCase):
    descr = "Verbs between a server and its client"
    benchmark = measured("verbs")
    time_limit = "5m"
