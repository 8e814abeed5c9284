"""Latency of the non-blocking collectives, and how much of it computing hides."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiNonblocking(BuiltCase):
    descr = "MPI non-blocking collective over all ranks"
    benchmark = measured_on(names("nonblocking"), available_placements())
    time_limit = "5m"
    acceptance_only = ["ud"]
