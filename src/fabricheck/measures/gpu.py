"""What all benchmarks on GPUs share: the two paths of their data, and the GPU that is none."""

from collections.abc import Mapping
from enum import StrEnum

FAKE_DEVICE = "Fake GPU (host memory)"
"""What the driver of the suite's own tests calls its device."""

_MARK = " (fake GPU)"


class GpuPath(StrEnum):
    """How data of a GPU reach another rank.

    ``aware``: MPI gets the GPU's memory. ``staged``: the program copies to pinned host memory and
    back, and MPI gets that; the copies belong to the time.
    """

    AWARE = "aware"
    STAGED = "staged"


def program_name(program: str, metadata: Mapping[str, str]) -> str:
    """A program's name as it is recorded: marked where one of its GPUs is host memory."""
    return f"{program}{_MARK}" if FAKE_DEVICE in metadata.get("gpu", "") else program


def is_fake(program: str) -> bool:
    """Whether a recorded program measured host memory that a test calls a GPU."""
    return program.endswith(_MARK)
