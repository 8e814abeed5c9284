"""The benchmark of ``mpi_under_load``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabricheck.measures.benchmark import NIGHTLY, Benchmark, Family
from fabricheck.measures.metrics import Metric
from fabricheck.units import KIB, MIB

PROGRAM: Final = "mpi_under_load"
PROGRAMS: Final = ("mpi_under_load",)
FAMILIES: Final = (Family("under_load", "latency under load", ("MpiUnderLoad",)),)

SIZES: Final = (KIB, 64 * KIB, MIB, 4 * MIB)
"""Those of the MPI AI cluster benchmark, whose latencies were taken under load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderLoad(Benchmark):
    """A latency, idle and loaded, with their ratio and what the load carried."""

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Middle and tail of both, the ratio of each, and the load."""
        return (
            *((Metric.LOADED_LATENCY, each) for each in ("avg", "p50", "p99")),
            *(
                (metric, each)
                for metric in (Metric.IDLE_LATENCY, Metric.LOAD_RATIO)
                for each in ("p50", "p99")
            ),
            (Metric.LOAD_RATE, "avg"),
        )


BENCHMARKS: Mapping[str, UnderLoad] = {
    "allreduce_under_load": UnderLoad(
        name="allreduce_under_load",
        family="under_load",
        title="Allreduce beside an incast",
        metrics=(
            Metric.LOADED_LATENCY,
            Metric.IDLE_LATENCY,
            Metric.LOAD_RATIO,
            Metric.LOAD_RATE,
        ),
        statistics=("p50", "p99"),
        min_size=SIZES[0],
        max_size=SIZES[-1],
        runs=NIGHTLY,
    )
}
