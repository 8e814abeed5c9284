"""Matrix multiplication: how long each phase takes, and what the phases show beside each other."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS as MATMUL_BENCHMARKS
from fabricheck.reframe_ext.matmul_shape import ShapeOfMatmul, shape_cases
from fabricheck.reframe_ext.mpi_matmul import MatmulBenchmark, matmul_placements


@rfm.simple_test
class MpiMatmul(MatmulBenchmark):
    descr = "Matrix multiplication on all ranks, by phases"
    benchmark = parameter(list(MATMUL_BENCHMARKS), type=str, loggable=True)
    placement = parameter(matmul_placements(), type=str, loggable=True)
    time_limit = "30m"


@rfm.simple_test
class MatmulShape(ShapeOfMatmul):
    descr = "What the phases of a matrix multiplication show beside each other"
    case = parameter(shape_cases(matmul_placements()), type=tuple, fmt=":".join, loggable=False)
    measured_by = MpiMatmul
