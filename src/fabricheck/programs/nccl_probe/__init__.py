"""nccl_probe: collectives of NCCL."""
