"""Regression tests for MPI and RDMA fabrics, built on ReFrame."""


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Asked for on demand: importlib.metadata costs more than the rest of a short command.
        from importlib.metadata import version  # noqa: PLC0415

        return version("fabricheck")
    raise AttributeError(name)
