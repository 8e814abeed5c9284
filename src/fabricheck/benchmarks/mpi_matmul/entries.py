"""The benchmarks of ``mpi_matmul``: matrix multiplication in each mode on each number of ranks."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import ACCEPTANCE, NIGHTLY, Family, ProgramBenchmark

PROGRAM: Final = "mpi_matmul"

FAMILIES: Final = (Family("matmul", "own program", ("MpiMatmul",)),)
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

RANKS = (2, 4, 8, 16, 32)
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
    """

    mode: str
    ranks: int

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """The median of each phase, and the variation of the phase that varies most."""
        return (*((phase, "p50") for phase in PHASES), (Metric.VARIATION, "max"))


def benchmark_name(mode: str, ranks: int) -> str:
    """Name in the registry of a mode on so many ranks."""
    return f"matmul_{mode}_np{ranks}"


def _matmul(mode: str, ranks: int) -> MatrixMultiplication:
    return MatrixMultiplication(
        name=benchmark_name(mode, ranks),
        family="matmul",
        title=f"Matrix multiplication on {ranks} ranks, {mode}",
        metrics=(*PHASES, Metric.VARIATION),
        statistics=("p50",),
        min_size=1,
        max_size=_LARGEST_ORDER,
        program=PROGRAM,
        options=("--mode", mode),
        transports=("rc", "tcp", "shm"),
        runs=ACCEPTANCE if mode == "collective" else NIGHTLY,
        mode=mode,
        ranks=ranks,
    )


BENCHMARKS: Mapping[str, MatrixMultiplication] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (_matmul(mode, ranks) for mode in MODES for ranks in RANKS)
    }
)
