"""One benchmark on every placement of two nodes or one, whether any site offers it or not."""

import reframe as rfm

from fabricheck.reframe_ext.case import BuiltCase, measured_on
from fabricheck.transports.placement import placements


@rfm.simple_test
class EveryTransport(BuiltCase):
    descr = "MPI latency"
    benchmark = measured_on(["latency"], placements([1, 2]))
    time_limit = "3m"
