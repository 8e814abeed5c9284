"""Latency of the persistent collectives of MPI 4."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiPersistent(BuiltCase):
    descr = "MPI persistent collective over all ranks"
    benchmark = measured_on(names("persistent"), available_placements())
    time_limit = "5m"
    acceptance_only = ["ud"]
