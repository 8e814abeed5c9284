"""The benchmarks of MPI on memory of GPUs, each a benchmark of MPI with a memory and a path.

``aware`` hands MPI the memory of the GPU, ``staged`` copies through pinned host memory inside the
timed part. Sizes are those of the comparison of CUDA-aware with CUDA-over MPI: 1 B to 4 MiB.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from fabricheck.measures.benchmark import ACCEPTANCE, NIGHTLY, Family, MpiBenchmark
from fabricheck.measures.gpu import GpuPath
from fabricheck.programs.osu.entries import BENCHMARKS as OF_MPI
from fabricheck.units import MIB

PROGRAMS: Final = ("mpi_probe", "mpi_matmul")
FAMILIES: Final = (Family("cuda_mpi", "MPI on memory of GPUs", ("CudaMpi",)),)
DERIVED: Final = ("AwareOverStaged",)

_TRANSFERS = ("latency", "bw", "bibw", "mbw_mr", "bcast")
_BY_THE_MPI = ("allreduce", "alltoall")
"""What the MPI itself must have been built with CUDA for: it reduces, or moves blocks."""

_LARGEST = 4 * MIB

COMPARED: Mapping[str, str] = {"cuda_ipc-1n": "shm-1n", "rc_cuda-2n": "rc-2n"}
"""Placements of the aware path that are compared, each with that of the staged one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuBenchmark(MpiBenchmark):
    """A benchmark of MPI on memory of GPUs.

    Attributes:
        base: name of the same benchmark on host memory.
        memory: ``device``, or ``managed`` for memory that the driver moves.
        path: ``aware`` or ``staged``.
        needs: features that the environment must have.
    """

    base: str
    memory: str
    path: GpuPath
    needs: tuple[str, ...] = ("cuda",)

    @property
    def osu_program(self) -> str:
        """That of the same benchmark on host memory."""
        return f"osu_{self.base}"

    @property
    def has_osu(self) -> bool:
        """Whether a program of OSU measures it: they have no staged path."""
        return bool(self.printed)


def benchmark_name(base: str, memory: str, path: str) -> str:
    """Name in the registry of a benchmark of MPI on a memory over a path; on the host's, its own.

    >>> benchmark_name("bw", "device", "staged"), benchmark_name("bw", "host", "aware")
    ('bw_device_staged', 'bw')
    """
    return base if memory == "host" else f"{base}_{memory}_{path}"


def _made(base: str, memory: str, path: GpuPath) -> GpuBenchmark:
    host = OF_MPI[base]
    same = {each.name: getattr(host, each.name) for each in fields(MpiBenchmark)}
    in_osu = memory == "device" and path is GpuPath.AWARE
    return GpuBenchmark(
        **{
            **same,
            "name": benchmark_name(base, memory, path),
            "family": "cuda_mpi",
            "title": f"{host.title}, {memory} memory, {path}",
            "max_size": _LARGEST,
            "runs": NIGHTLY if base in ("latency", "bw") else ACCEPTANCE,
            "printed": host.printed.replace("MPI ", "MPI-CUDA ", 1) if in_osu else "",
        },
        base=base,
        memory=memory,
        path=path,
        needs=("cuda", "cuda_collectives") if base in _BY_THE_MPI else ("cuda",),
    )


def _all() -> Iterable[GpuBenchmark]:
    for base in _TRANSFERS:
        yield from (_made(base, "device", path) for path in GpuPath)
    for base in ("latency", "bw"):
        yield _made(base, "managed", GpuPath.AWARE)
    for base in _BY_THE_MPI:
        yield _made(base, "device", GpuPath.AWARE)


BENCHMARKS: Mapping[str, GpuBenchmark] = {each.name: each for each in _all()}
