"""All idle nodes in pairs, all at once: which node or link is slower than its peers."""

import reframe as rfm

from fabricheck.reframe_ext.case import measured
from fabricheck.reframe_ext.pair_health import PairSurvey


@rfm.simple_test
class PairHealth(PairSurvey):
    descr = "Every node beside its peers"
    benchmark = measured("pair_health")
    time_limit = "10m"
