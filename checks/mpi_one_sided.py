"""Latency and bandwidth of windows: put, get, accumulate and the atomics."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiOneSided(BuiltCase):
    descr = "MPI one-sided between two ranks"
    benchmark = measured_on(names("one_sided"), available_placements(max_nodes=2))
    time_limit = "3m"
