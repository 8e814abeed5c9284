"""How long it takes to start ranks, and until MPI_Init ends."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiStartup(BuiltCase):
    descr = "Start of an MPI job"
    benchmark = measured_on(names("startup"), available_placements())
    time_limit = "5m"
