"""State, addresses, versions and counters of the RDMA ports of every node."""

import reframe as rfm

from fabricheck.reframe_ext.surveys import FabricSurvey


@rfm.simple_test
class FabricHealth(FabricSurvey):
    descr = "RDMA ports of every node"
    time_limit = "3m"
    tags = {"smoke", "nightly", "full", "health"}
