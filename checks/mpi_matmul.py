"""Matrix multiplication: how long each phase takes, and what the phases show beside each other."""

import reframe as rfm

from fabricheck.programs.mpi_matmul.launch import placements
from fabricheck.programs.mpi_matmul.ratio import shape_ratio, shapes
from fabricheck.reframe_ext.case import BuiltCase, measured, over
from fabricheck.reframe_ext.ratio import RatioCase


@rfm.simple_test
class MpiMatmul(BuiltCase):
    descr = "Matrix multiplication on all ranks, by phases"
    benchmark = measured("matmul")
    time_limit = "30m"


@rfm.simple_test
class MatmulShape(RatioCase):
    descr = "What the phases of a matrix multiplication show beside each other"
    benchmark = over(shapes(placements()), shape_ratio)
    ratio_of = staticmethod(shape_ratio)
    measured_by = MpiMatmul
