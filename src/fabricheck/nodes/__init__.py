"""What the kernel says of a node and of its ports: one collector, one reader."""
