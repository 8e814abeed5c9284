"""The benchmarks that fabricheck runs and judges: data, not classes.

Titles, default sizes and option rules are those of the OSU Micro-Benchmarks 7.4; ``mpi_probe``
prints the same titles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from fabricheck.errors import FabricheckError

KIB = 1 << 10
MIB = 1 << 20

Family = Literal["pt2pt", "collective"]


class Metric(StrEnum):
    """What a benchmark measures."""

    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    MESSAGE_RATE = "message_rate"
    RATIO = "ratio"


class Direction(StrEnum):
    """Which values of a metric are better."""

    LOWER = "lower"
    HIGHER = "higher"


class RanksRule(StrEnum):
    """How many MPI ranks a benchmark can run with."""

    EXACTLY_TWO = "exactly two"
    EVEN = "an even number"
    AT_LEAST_TWO = "at least two"


UNITS: Mapping[Metric, str] = MappingProxyType(
    {
        Metric.LATENCY: "us",
        Metric.BANDWIDTH: "MB/s",
        Metric.MESSAGE_RATE: "messages/s",
        Metric.RATIO: "1",
    }
)
"""Units as the programs print them; a MB is 10^6 bytes, as in OSU. A ratio, slower path over faster
one, has the unit 1."""

DIRECTIONS: Mapping[Metric, Direction] = MappingProxyType(
    {
        Metric.LATENCY: Direction.LOWER,
        Metric.BANDWIDTH: Direction.HIGHER,
        Metric.MESSAGE_RATE: Direction.HIGHER,
        Metric.RATIO: Direction.HIGHER,
    }
)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: short name, also the name of ``mpi_probe``'s subcommand.
        family: ``pt2pt`` or ``collective``.
        osu_program: the OSU program that measures the same.
        titles: what stands between ``MPI`` and the version in the title line of the output.
        metrics: what is measured.
        statistics: the statistics that are recorded and judged.
        min_size: smallest message in bytes, ``None`` if the benchmark sends no payload.
        max_size: largest message in bytes, ``None`` if the benchmark sends no payload.
        datatype: what to pass with ``-T``; ``None`` for the program's default. Reductions are
            never left at ``MPI_CHAR``: data validation of ``osu_allreduce`` then fails on a
            healthy Open MPI 4.1.4 (its ``op/avx`` component).
        ranks: how many ranks it can run with.
    """

    name: str
    family: Family
    osu_program: str
    titles: tuple[str, ...]
    metrics: tuple[Metric, ...]
    statistics: tuple[str, ...]
    min_size: int | None
    max_size: int | None
    datatype: str | None
    ranks: RanksRule


_LATENCY_STATISTICS = ("avg", "p50", "p99")


def _pt2pt(
    name: str, title: str, metrics: tuple[Metric, ...], ranks: RanksRule = RanksRule.EXACTLY_TWO
) -> Benchmark:
    statistics = _LATENCY_STATISTICS if Metric.LATENCY in metrics else ("avg",)
    return Benchmark(
        name=name,
        family="pt2pt",
        osu_program=f"osu_{name}",
        titles=(title,),
        metrics=metrics,
        statistics=statistics,
        min_size=1,
        max_size=4 * MIB,
        datatype=None,
        ranks=ranks,
    )


def _collective(
    name: str, title: str, *, reduction: bool = False, payload: bool = True
) -> Benchmark:
    smallest = 4 if reduction else 1
    return Benchmark(
        name=name,
        family="collective",
        osu_program=f"osu_{name}",
        titles=(f"{title} Latency Test",),
        metrics=(Metric.LATENCY,),
        statistics=_LATENCY_STATISTICS,
        min_size=smallest if payload else None,
        max_size=MIB if payload else None,
        datatype="mpi_float" if reduction else None,
        ranks=RanksRule.AT_LEAST_TWO,
    )


REGISTRY: Mapping[str, Benchmark] = MappingProxyType(
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


def find(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        FabricheckError: if there is none; the message lists the known names.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        known = ", ".join(REGISTRY)
        raise FabricheckError(f"unknown benchmark {name!r}: known are {known}") from None


def sweep(min_size: int, max_size: int) -> tuple[int, ...]:
    """Message sizes in bytes that the programs measure with ``-m MIN:MAX``: doubling from MIN.

    As in OSU, a sweep that starts at 0 goes on with 1.

    Raises:
        FabricheckError: if MIN is negative or greater than MAX.
    """
    if not 0 <= min_size <= max_size:
        raise FabricheckError(
            f"expected message sizes MIN:MAX with 0 <= MIN <= MAX, found {min_size}:{max_size}"
        )
    sizes = [min_size]
    while (following := next_size(sizes[-1])) <= max_size:
        sizes.append(following)
    return tuple(sizes)


def next_size(size: int) -> int:
    """The message size that follows ``size`` in a sweep, in bytes."""
    return size * 2 if size else 1


def names(family: Family) -> list[str]:
    """Names of the benchmarks of a family, in the registry's order."""
    return [benchmark.name for benchmark in REGISTRY.values() if benchmark.family == family]
