"""Sums over all ranks by several schemes, in networks with and without a tail."""

import reframe as rfm

from fabricheck.programs.allreduce_lab.launch import sums
from fabricheck.reframe_ext.case import BuiltCase, over


@rfm.simple_test
class AllreduceLab(BuiltCase):
    descr = "Times of an allreduce by each scheme"
    benchmark = over(sums())
    time_limit = "10m"
