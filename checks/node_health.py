"""Prerequisites of the nodes themselves, and of the software on them."""

import reframe as rfm

from fabricheck.reframe_ext.surveys import NodeSurvey


@rfm.simple_test
class NodeHealth(NodeSurvey):
    descr = "Prerequisites of every node"
    time_limit = "3m"
    tags = {"smoke", "nightly", "full", "health"}
