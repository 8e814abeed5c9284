"""What all benchmarks on GPUs share: the two paths of their data, and the GPU that is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fabricheck.tables import TEXT, rows

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


_TEXTS: Final = dict.fromkeys(("name", "pci", "perftest", "dmabuf", "seen"), TEXT)
VENDORS: Final = {
    row["name"]: GpuVendor(**row)
    for row in rows(Path(__file__).with_name("gpu_vendors.csv"), _TEXTS)
}


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
