"""An iteration of a training by each scheme, in networks with a tail, and its growth with it."""

import reframe as rfm

from fabricheck.programs.allreduce_lab.launch import iterations
from fabricheck.programs.allreduce_lab.ratio import growth_of, growths
from fabricheck.reframe_ext.case import BuiltCase, over
from fabricheck.reframe_ext.ratio import RatioCase


@rfm.simple_test
class TrainingIteration(BuiltCase):
    descr = "Seconds of a training's iteration by each scheme"
    benchmark = over(iterations())
    time_limit = "30m"


@rfm.simple_test
class TailGrowth(RatioCase):
    descr = "An iteration in the environment of 3 over that of 1.5"
    benchmark = over(growths(), growth_of)
    ratio_of = staticmethod(growth_of)
    measured_by = TrainingIteration
