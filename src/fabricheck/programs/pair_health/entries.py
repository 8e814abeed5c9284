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

BENCHMARKS: Mapping[str, Benchmark] = {
    "pair_health": Benchmark(
        name="pair_health",
        family="pair_health",
        title="Latency and bandwidth of pairs of nodes, all at once",
        metrics=(Metric.LATENCY, Metric.BANDWIDTH),
        statistics=("p50",),
        min_size=PING,
        max_size=MESSAGE,
        runs=NIGHTLY,
    )
}
