"""Site files: a system's partitions and environments as data, checked before anything uses them."""
