"""MPI on memory of GPUs: CUDA-aware, and copied through the host by the program."""

import reframe as rfm

from fabricheck.programs.cuda_mpi.ratio import shape_ratio, shapes
from fabricheck.reframe_ext.case import BuiltCase, measured, over
from fabricheck.reframe_ext.ratio import RatioCase


@rfm.simple_test
class CudaMpi(BuiltCase):
    descr = "MPI on memory of GPUs"
    benchmark = measured("cuda_mpi")
    time_limit = "5m"


@rfm.simple_test
class CudaMatmul(BuiltCase):
    descr = "Matrix multiplication on the GPUs of all ranks, by phases"
    benchmark = measured("matmul_gpu")
    time_limit = "30m"


@rfm.simple_test
class AwareOverStaged(RatioCase):
    descr = "CUDA-aware MPI is not slower than copies through the host"
    benchmark = over(shapes(), shape_ratio)
    ratio_of = staticmethod(shape_ratio)
    measured_by = CudaMpi
