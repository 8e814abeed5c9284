"""mpi_matmul: matrix multiplication by phases."""
