"""pair_health: latency and bandwidth of all nodes in disjoint pairs, which tell who is slow."""
