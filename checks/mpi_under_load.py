"""Latency of a collective while an incast loads the fabric, beside that on the idle one."""

import reframe as rfm

from fabricheck.reframe_ext.case import BuiltCase, measured


@rfm.simple_test
class MpiUnderLoad(BuiltCase):
    descr = "MPI latency on an idle and a loaded fabric"
    benchmark = measured("under_load")
    time_limit = "10m"
