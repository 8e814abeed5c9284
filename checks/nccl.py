"""Collectives of NCCL, all-reduce in each of its schemes."""

import reframe as rfm

from fabricheck.reframe_ext.case import BuiltCase, measured


@rfm.simple_test
class Nccl(BuiltCase):
    descr = "Collective of NCCL over all GPUs"
    benchmark = measured("nccl")
    time_limit = "10m"
