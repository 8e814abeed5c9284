"""The benchmarks of MPI.

They have the titles, default sizes and option rules of the OSU Micro-Benchmarks 7.4;
``mpi_probe`` prints the same titles.
"""

from collections.abc import Mapping
from types import MappingProxyType

from fabricheck.benchmarks.model import (
    LATENCY_STATISTICS,
    MIB,
    Metric,
    MpiBenchmark,
    RanksRule,
)


def _pt2pt(
    name: str, title: str, metrics: tuple[Metric, ...], ranks: RanksRule = RanksRule.EXACTLY_TWO
) -> MpiBenchmark:
    statistics = LATENCY_STATISTICS if Metric.LATENCY in metrics else ("avg",)
    return MpiBenchmark(
        name=name,
        family="pt2pt",
        osu_program=f"osu_{name}",
        title=title,
        metrics=metrics,
        statistics=statistics,
        min_size=1,
        max_size=4 * MIB,
        datatype=None,
        ranks=ranks,
    )


def _collective(
    name: str, title: str, *, reduction: bool = False, payload: bool = True
) -> MpiBenchmark:
    smallest = 4 if reduction else 1
    return MpiBenchmark(
        name=name,
        family="collective",
        osu_program=f"osu_{name}",
        title=f"{title} Latency Test",
        metrics=(Metric.LATENCY,),
        statistics=LATENCY_STATISTICS,
        min_size=smallest if payload else None,
        max_size=MIB if payload else None,
        datatype="mpi_float" if reduction else None,
        ranks=RanksRule.AT_LEAST_TWO,
    )


MPI_BENCHMARKS: Mapping[str, MpiBenchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            _pt2pt("latency", "Latency Test", (Metric.LATENCY,)),
            _pt2pt("bw", "Bandwidth Test", (Metric.BANDWIDTH,)),
            _pt2pt("bibw", "Bi-Directional Bandwidth Test", (Metric.BANDWIDTH,)),
            _pt2pt(
                "mbw_mr",
                "Multiple Bandwidth / Message Rate Test",
                (Metric.BANDWIDTH, Metric.MESSAGE_RATE),
                RanksRule.EVEN,
            ),
            _collective("allreduce", "Allreduce", reduction=True),
            _collective("reduce", "Reduce", reduction=True),
            _collective("bcast", "Broadcast"),
            _collective("alltoall", "All-to-All Personalized Exchange"),
            _collective("allgather", "Allgather"),
            _collective("reduce_scatter", "Reduce_scatter", reduction=True),
            _collective("gather", "Gather"),
            _collective("scatter", "Scatter"),
            _collective("barrier", "Barrier", payload=False),
        )
    }
)
