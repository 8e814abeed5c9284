"""A Slurm cluster of namespaces on one machine."""
