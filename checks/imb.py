"""The Intel MPI Benchmarks, where an environment has them."""

import reframe as rfm

from fabricheck.reframe_ext.case import BuiltCase, measured


@rfm.simple_test
class Imb(BuiltCase):
    descr = "Intel MPI Benchmarks"
    benchmark = measured("imb")
    time_limit = "5m"
