"""ucx_perftest: UCX without MPI."""
