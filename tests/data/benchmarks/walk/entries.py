"""The one benchmark of walk."""

from types import MappingProxyType

from fabricheck.measures.benchmark import NIGHTLY, Benchmark, Family
from fabricheck.measures.metrics import Metric

FAMILIES = (Family("memory", "memory of a node", ("MemoryWalk",)),)
BENCHMARKS = MappingProxyType(
    {
        "walk": Benchmark(
            name="walk",
            family="memory",
            title="Steps through memory",
            metrics=(Metric.LATENCY,),
            statistics=("avg",),
            min_size=1024,
            max_size=4096,
            runs=NIGHTLY,
        )
    }
)
