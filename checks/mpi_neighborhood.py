"""Latency of the collectives with neighbours on a ring."""

import reframe as rfm

from fabricheck.benchmarks.registry import names
from fabricheck.launch.cases import offered
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiNeighborhood(BuiltCase):
    descr = "MPI collective with neighbours"
    benchmark = measured_on(names("neighborhood"), [*offered(most=1), *offered(least=3)])
    time_limit = "5m"
    acceptance_only = ["ud"]
