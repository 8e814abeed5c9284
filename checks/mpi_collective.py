"""Latency of the collectives, inside a node and over two nodes and more."""

import reframe as rfm

from fabricheck.launch.cases import available_placements
from fabricheck.measures.registry import names
from fabricheck.reframe_ext.case import BuiltCase, measured_on


@rfm.simple_test
class MpiCollective(BuiltCase):
    descr = "MPI collective over all ranks"
    benchmark = measured_on(
        names("collective"), [*available_placements(), *available_placements(layout="full")]
    )
    time_limit = "5m"
    acceptance_only = ["ud"]
