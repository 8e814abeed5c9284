"""Baselines: references that the history proposes, somebody accepts, and time makes old."""
