"""Health of the fabric: what the kernel of each node says of its RDMA ports, judged."""
