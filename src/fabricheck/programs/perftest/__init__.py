"""perftest: verbs without UCX and MPI."""
