"""What all benchmarks on GPUs share: the two paths of their data, and the GPU that is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FAKE_DEVICE = "Fake GPU (host memory)"
"""What the driver of the suite's own tests calls its device."""

_MARK = " (fake GPU)"


@dataclass(frozen=True, slots=True)
class GpuVendor:
    """Whose GPUs a partition has.

    Attributes:
        name: as the site file has it.
        pci: the vendor's number in sysfs.
        perftest: perftest's option for a GPU.
        dmabuf: the one beside it for dmabuf, in place of a module of peer memory.
        seen: where perftest was tried with them.
    """

    name: str
    pci: str
    perftest: str
    dmabuf: str
    seen: str


VENDORS: Final = {
    row[0]: GpuVendor(*row)
    for row in (
        ("cuda", "0x10de", "--use_cuda_bus_id=@gpu@", "--use_cuda_dmabuf", "not seen"),
        ("rocm", "0x1002", "--use_rocm=@gpu_number@", "--use_rocm_dmabuf", "not seen"),
    )
}
"""By name; each node puts its GPU nearest to the card in the place of the words in @."""


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
