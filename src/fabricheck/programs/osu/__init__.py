"""The OSU Micro-Benchmarks, and the same measured by ``mpi_probe``."""
