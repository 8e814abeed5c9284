"""Node health: what a node must offer before anything that is measured on it means something."""
