"""Collectives of NCCL, all-reduce in each of its schemes, and a training's iteration with it."""

import reframe as rfm

from fabricheck.reframe_ext.case import BuiltCase, measured


@rfm.simple_test
class Nccl(BuiltCase):
    descr = "Collective of NCCL over all GPUs"
    benchmark = measured("nccl")
    time_limit = "10m"


@rfm.simple_test
class NcclIteration(BuiltCase):
    descr = "Seconds of a training's iteration with NCCL, beside other traffic"
    benchmark = measured("nccl-training")
    time_limit = "30m"
