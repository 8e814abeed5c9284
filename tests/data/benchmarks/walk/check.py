"""Steps through the memory of a node."""

import reframe as rfm

from fabricheck.reframe_ext.case import BenchmarkCase, measured


@rfm.simple_test
class MemoryWalk(BenchmarkCase):
    descr = "Steps through memory"
    benchmark = measured("memory")
    time_limit = "1m"
