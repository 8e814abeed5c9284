"""The embedded cluster: Slurm whose nodes are sets of namespaces on this machine."""
