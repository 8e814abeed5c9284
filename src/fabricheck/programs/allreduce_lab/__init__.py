"""allreduce_lab: sums over all ranks by several schemes, in networks with and without a tail."""
