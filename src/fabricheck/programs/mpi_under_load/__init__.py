"""mpi_under_load: latency on an idle and on a loaded fabric, in one job."""
