"""Curves against references: levels, shapes and the reading of reference files."""
