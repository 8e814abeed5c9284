"""rdma_stream: streams of messages from transmitters to receivers."""
