"""Networks in which the p99 of an allreduce is so many medians: they must be that."""

import reframe as rfm

from fabricheck.programs.allreduce_lab.launch import environments
from fabricheck.reframe_ext.case import BuiltCase, over


@rfm.simple_test
class TailEnvironment(BuiltCase):
    descr = "p99 over p50 of a ring allreduce beside other traffic"
    benchmark = over(environments())
    time_limit = "10m"
