"""Fire drill: faults injected into a testbed, to see that the checks see them, and name them."""
