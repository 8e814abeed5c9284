"""How a benchmark is placed, started and proved: what the folders of benchmarks have in common."""
