"""The benchmark of ``pair_probe``."""

from collections.abc import Mapping
from typing import Final

from fabricheck.measures.benchmark import NIGHTLY, Benchmark, Family
from fabricheck.measures.metrics import Metric
from fabricheck.units import MIB

PROGRAM: Final = "pair_probe"
PROGRAMS: Final = ("pair_probe",)
FAMILIES: Final = (
    Family("pair_health", "all nodes in pairs", ("PairHealth",), has_references=False),
)

PING: Final = 8
MESSAGE: Final = MIB

NCCL: Final = "pair_health_nccl"

BENCHMARKS: Mapping[str, Benchmark] = {
    name: Benchmark(
        name=name,
        family="pair_health",
        title=f"Latency and bandwidth of pairs of {what}, all at once",
        metrics=(Metric.LATENCY, Metric.BANDWIDTH),
        statistics=("p50",),
        min_size=PING,
        max_size=MESSAGE,
        runs=NIGHTLY,
    )
    for name, what in {"pair_health": "nodes", NCCL: "nodes, GPU to GPU by NCCL"}.items()
}
