"""Regression tests for MPI and RDMA fabrics, built on ReFrame."""

from importlib.metadata import version

__version__ = version("fabricheck")
