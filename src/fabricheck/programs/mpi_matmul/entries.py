"""The benchmarks of ``mpi_matmul``: matrix multiplication in each mode on each number of ranks.

Each is there on CPUs, and on GPUs over both paths of their data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabricheck.measures.benchmark import ACCEPTANCE, NIGHTLY, Family, ProgramBenchmark
from fabricheck.measures.gpu import GpuPath
from fabricheck.measures.metrics import Metric

PROGRAM: Final = "mpi_matmul"

PROGRAMS: Final = ("mpi_matmul",)
FAMILIES: Final = (
    Family("matmul", "own program", ("MpiMatmul",)),
    Family("matmul_gpu", "own program on GPUs", ("CudaMatmul",)),
)
DERIVED: Final = ("MatmulShape",)

TRANSFERS = (Metric.TRANSFER_A, Metric.BROADCAST_B, Metric.TRANSFER_C)
"""The phases that move data: rows of A, all of B, rows of C."""

PHASES = (
    Metric.TOTAL,
    Metric.TRANSFER_A,
    Metric.BROADCAST_B,
    Metric.COMPUTE,
    Metric.TRANSFER_C,
)

STAGED_PHASES = (*PHASES[:3], Metric.COPY_IN, Metric.COMPUTE, Metric.COPY_OUT, Metric.TRANSFER_C)
"""On GPUs whose data the program copies through host memory, the copies are phases."""

RANKS = (2, 4, 8, 16, 32)
GPU_RANKS = (2, 4, 8)
MODES = ("blocking", "nonblocking", "collective")
ORDERS = (2000, 4000, 6000, 8000, 10000)
"""Orders of the matrices where a site names no others: those of "Performance Analysis of MPI Over
Cluster"."""

_LARGEST_ORDER = 1_000_000
"""The program takes no larger ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixMultiplication(ProgramBenchmark):
    """``mpi_matmul``, whose sizes are orders of matrices in the place of bytes.

    Attributes:
        mode: how the data move: ``blocking``, ``nonblocking`` or ``collective``.
        ranks: on how many ranks.
        path: of the data of GPUs; ``None`` on CPUs.
    """

    mode: str
    ranks: int
    path: GpuPath | None = None

    @property
    def phases(self) -> tuple[Metric, ...]:
        """The phases that it times, the whole first."""
        return STAGED_PHASES if self.path is GpuPath.STAGED else PHASES

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """The median of each phase, and the variation of the phase that varies most."""
        return (*((phase, "p50") for phase in self.phases), (Metric.VARIATION, "max"))


def benchmark_name(mode: str, ranks: int, path: str | None = None) -> str:
    """Name in the registry of a mode on so many ranks, on GPUs with the path of their data."""
    return f"matmul_{f'gpu_{path}_' if path else ''}{mode}_np{ranks}"


_TRANSPORTS: Mapping[GpuPath | None, tuple[str, ...]] = {
    None: ("rc", "tcp", "ipoib", "shm"),
    GpuPath.STAGED: ("rc", "tcp", "ipoib", "shm"),
    GpuPath.AWARE: ("rc_cuda", "tcp_cuda", "cuda_ipc"),
}


def _matmul(mode: str, ranks: int, path: GpuPath | None = None) -> MatrixMultiplication:
    return MatrixMultiplication(
        name=benchmark_name(mode, ranks, path),
        family="matmul_gpu" if path else "matmul",
        title=f"Matrix multiplication on {ranks} ranks, {mode}{f', GPUs, {path}' if path else ''}",
        metrics=(*(STAGED_PHASES if path is GpuPath.STAGED else PHASES), Metric.VARIATION),
        statistics=("p50",),
        min_size=1,
        max_size=_LARGEST_ORDER,
        program=PROGRAM,
        options=("--mode", mode, *(("--compute", "gpu", "--path", path) if path else ())),
        transports=_TRANSPORTS[path],
        runs=ACCEPTANCE if mode == "collective" else NIGHTLY,
        mode=mode,
        ranks=ranks,
        path=path,
    )


_ON_CPUS = [_matmul(mode, ranks) for mode in MODES for ranks in RANKS]
_ON_GPUS = [_matmul(mode, ranks, p) for p in GpuPath for mode in MODES for ranks in GPU_RANKS]

BENCHMARKS: Mapping[str, MatrixMultiplication] = {
    benchmark.name: benchmark for benchmark in (*_ON_CPUS, *_ON_GPUS)
}
