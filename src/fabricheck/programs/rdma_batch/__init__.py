"""rdma_batch: batches of RDMA reads and writes."""
