"""The Intel MPI Benchmarks: run where a site has them, and read wherever they ran."""
