"""Batches of RDMA reads and writes, as key-value stores and inference engines post them."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabricheck.reframe_ext import rdma_batch


@rfm.simple_test
class RdmaBatch(rdma_batch.RdmaBatch):
    descr = "Batches of RDMA reads and writes"
    case = parameter(rdma_batch.sweep_cases(), type=tuple, fmt=":".join, loggable=False)
    time_limit = "6m"


@rfm.simple_test
class RdmaBatchBeside(rdma_batch.RdmaBatchBeside):
    descr = "Batches of RDMA beside perftest, and beside other ways to post them"
    case = parameter(rdma_batch.comparison_cases(), type=tuple, fmt=":".join, loggable=False)
    time_limit = "6m"
