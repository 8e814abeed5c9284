"""Batches of RDMA reads and writes, as key-value stores and inference engines post them."""

import reframe as rfm

from fabricheck.reframe_ext.case import BuiltCase, measured


@rfm.simple_test
class RdmaBatch(BuiltCase):
    descr = "Batches of RDMA reads and writes"
    benchmark = measured("rdma_batch")
    time_limit = "6m"


@rfm.simple_test
class RdmaBatchBeside(BuiltCase):
    descr = "Batches of RDMA beside perftest, and beside other ways to post them"
    benchmark = measured("rdma_batch_ratio")
    time_limit = "6m"
