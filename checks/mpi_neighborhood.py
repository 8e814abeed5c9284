"""Latency of the collectives with neighbours on a ring."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiNeighborhood(BuiltCase):
    descr = "MPI collective with neighbours"
    benchmark = measured_on(
        names("neighborhood"),
        [*available_placements(max_nodes=1), *available_placements(min_nodes=3)],
    )
    time_limit = "5m"
    acceptance_only = ["ud"]
