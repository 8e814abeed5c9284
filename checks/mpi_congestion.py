"""Bandwidth of all nodes into one, and of one to all."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiCongestion(BuiltCase):
    descr = "MPI bandwidth of many nodes against one"
    benchmark = measured_on(names("congestion"), available_placements(min_nodes=2))
    time_limit = "5m"
