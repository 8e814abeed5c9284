"""The benchmarks of MPI: those of the OSU Micro-Benchmarks 7.x, whole, as data.

Titles, sizes and rules on ranks are those of OSU 7.4; ``mpi_probe`` measures some of them under the
same titles. Left out are ``osu_latency_mp``, which forks after ``MPI_Init`` and so breaks what RDMA
has registered, and what OSU measures on accelerators.

How they are called stands in ``options``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import (
    ACCEPTANCE,
    FULL,
    LATENCY_STATISTICS,
    NIGHTLY,
    SMOKE,
    Family,
    MpiBenchmark,
    RanksRule,
)
from fabricheck.units import MIB

FAMILIES: Final = (
    Family("pt2pt", "point to point", ("MpiPointToPoint", "MpiPointToPointFull"), "MPI"),
    Family("collective", "collective", ("MpiCollective",), "MPI"),
    Family("one_sided", "one-sided", ("MpiOneSided",), "MPI"),
    Family("nonblocking", "non-blocking collective", ("MpiNonblocking",), "MPI"),
    Family("neighborhood", "collective of neighbours", ("MpiNeighborhood",), "MPI"),
    Family("persistent", "persistent collective", ("MpiPersistent",), "MPI"),
    Family("congestion", "congestion", ("MpiCongestion",), "MPI"),
    Family("startup", "start of a job", ("MpiStartup",)),
)
DERIVED: Final = ("TransportOrder",)

_LATENCY = (Metric.LATENCY,)
_BANDWIDTH = (Metric.BANDWIDTH,)
_OVERLAPPED = (Metric.LATENCY, Metric.COMMUNICATION, Metric.OVERLAP)
_MPI_STATISTICS = (*LATENCY_STATISTICS, "max")
_LARGEST = 4 * MIB
_LARGEST_OF_ALL_RANKS = MIB
_FLOAT, _INT = "mpi_float", "mpi_int"
_SMALLEST = {_FLOAT: 4, _INT: 4}


def _between_pairs(
    name: str,
    printed: str,
    metrics: tuple[Metric, ...] = _LATENCY,
    *,
    family: str = "pt2pt",
    ranks: RanksRule = RanksRule.EXACTLY_TWO,
    runs: frozenset[str] = ACCEPTANCE,
    datatype: str | None = None,
    only: int | None = None,
    validates: bool = True,
    in_probe: bool = False,
    percentiles: bool = True,
) -> MpiBenchmark:
    """A benchmark of pairs of ranks; ``only`` is the one size in bytes of an atomic."""
    return MpiBenchmark(
        name=name,
        family=family,
        title=printed.removeprefix("MPI "),
        metrics=metrics,
        statistics=_MPI_STATISTICS if percentiles and Metric.LATENCY in metrics else ("avg",),
        min_size=only or _SMALLEST.get(datatype or "", 1),
        max_size=only or _LARGEST,
        osu_program=f"osu_{name}",
        printed=printed,
        datatype=datatype,
        ranks=ranks,
        runs=runs,
        validates=validates,
        in_probe=in_probe,
    )


def _one_sided(
    name: str,
    printed: str,
    metrics: tuple[Metric, ...] = _LATENCY,
    *,
    runs: frozenset[str] = ACCEPTANCE,
    datatype: str | None = None,
    only: int | None = None,
) -> MpiBenchmark:
    """A benchmark of windows; only atomics, which have a datatype, can check their data."""
    return _between_pairs(
        name,
        printed,
        metrics,
        family="one_sided",
        runs=runs,
        datatype=datatype,
        only=only,
        validates=datatype is not None,
    )


def _collective(
    name: str,
    operation: str,
    *,
    family: str = "collective",
    metrics: tuple[Metric, ...] = _LATENCY,
    runs: frozenset[str] = FULL,
    reduction: bool = False,
    payload: bool = True,
    largest: int = _LARGEST_OF_ALL_RANKS,
    validates: bool = True,
    ranks: RanksRule = RanksRule.AT_LEAST_TWO,
    title: str = "",
    in_probe: bool = False,
) -> MpiBenchmark:
    """A benchmark of all ranks; ``title`` where OSU prints that of another."""
    datatype = _FLOAT if reduction else None
    return MpiBenchmark(
        name=name,
        family=family,
        title=f"{title or operation} Latency Test",
        metrics=metrics,
        statistics=_MPI_STATISTICS,
        min_size=_SMALLEST.get(datatype or "", 1) if payload else None,
        max_size=largest if payload else None,
        osu_program=f"osu_{name}",
        printed=f"MPI {operation} Latency Test",
        datatype=datatype,
        ranks=ranks,
        runs=runs,
        validates=payload and validates,
        in_probe=in_probe,
    )


def _nonblocking(
    name: str,
    operation: str,
    *,
    runs: frozenset[str] = FULL,
    reduction: bool = False,
    payload: bool = True,
    blocking: str = "Non-blocking",
) -> MpiBenchmark:
    """A collective that goes on while the rank computes, and how much of it did."""
    return _collective(
        name,
        f"{blocking} {operation}",
        family="nonblocking",
        metrics=_OVERLAPPED,
        runs=runs,
        reduction=reduction,
        payload=payload,
    )


def _neighborhood(name: str, operation: str, runs: frozenset[str] = FULL) -> MpiBenchmark:
    """A collective with the neighbours on a ring, OSU's default graph.

    Two ranks are no ring: its programs then say so, measure nothing, and end with exit code 0.
    """
    overlapped = name.startswith("i")
    return _collective(
        name,
        f"{'Non-blocking ' * overlapped}{operation}",
        family="neighborhood",
        metrics=_OVERLAPPED if overlapped else _LATENCY,
        runs=runs,
        ranks=RanksRule.AT_LEAST_THREE,
        title="" if operation.startswith("Neighborhood") else f"Neighborhood {operation}",
    )


def _congestion(name: str, title: str) -> MpiBenchmark:
    """All nodes against one; OSU gives both the title and the header of other benchmarks."""
    return MpiBenchmark(
        name=name,
        family="congestion",
        title=title,
        metrics=_BANDWIDTH,
        statistics=("avg",),
        min_size=1,
        max_size=_LARGEST,
        osu_program=f"osu_{name}",
        printed="MPI Bandwidth Test",
        datatype=None,
        ranks=RanksRule.AT_LEAST_TWO,
        runs=ACCEPTANCE,
        validates=False,
    )


def _startup(
    name: str, printed: str, metric: Metric, statistics: tuple[str, ...], runs: frozenset[str]
) -> MpiBenchmark:
    """How long it takes to start: no messages, no options."""
    return MpiBenchmark(
        name=name,
        family="startup",
        title=printed.removeprefix("MPI "),
        metrics=(metric,),
        statistics=statistics,
        min_size=None,
        max_size=None,
        osu_program=f"osu_{name}",
        printed=printed,
        datatype=None,
        ranks=RanksRule.AT_LEAST_TWO,
        runs=runs,
        validates=False,
    )


_POINT_TO_POINT = (
    _between_pairs("latency", "MPI Latency Test", runs=SMOKE, in_probe=True),
    _between_pairs("bw", "MPI Bandwidth Test", _BANDWIDTH, runs=SMOKE, in_probe=True),
    _between_pairs(
        "bibw", "MPI Bi-Directional Bandwidth Test", _BANDWIDTH, runs=SMOKE, in_probe=True
    ),
    _between_pairs(
        "mbw_mr",
        "MPI Multiple Bandwidth / Message Rate Test",
        (Metric.BANDWIDTH, Metric.MESSAGE_RATE),
        ranks=RanksRule.EVEN,
        runs=SMOKE,
        in_probe=True,
    ),
    # One thread sends, two receive. Its percentiles are not reset between sizes, OSU checks data
    # only between as many senders as receivers, and then each sender prints the header.
    _between_pairs(
        "latency_mt", "MPI Multi-threaded Latency Test", validates=False, percentiles=False
    ),
    # It prints the header of percentiles and none of their values.
    _between_pairs("multi_lat", "MPI Multi Latency Test", ranks=RanksRule.EVEN, percentiles=False),
    _between_pairs("latency_persistent", "MPI Latency Persistent Test", runs=FULL),
    _between_pairs("bw_persistent", "MPI Bandwidth Persistent Test", _BANDWIDTH, runs=FULL),
    _between_pairs(
        "bibw_persistent", "MPI Bi-Directional Bandwidth Persistent Test", _BANDWIDTH, runs=FULL
    ),
)

_ONE_SIDED = (
    _one_sided("put_latency", "MPI_Put Latency Test", runs=NIGHTLY),
    _one_sided("put_bw", "MPI_Put Bandwidth Test", _BANDWIDTH, runs=NIGHTLY),
    _one_sided("put_bibw", "MPI_Put Bi-directional Bandwidth Test", _BANDWIDTH, runs=FULL),
    _one_sided("get_latency", "MPI_Get latency Test", runs=NIGHTLY),
    _one_sided("get_bw", "MPI_Get Bandwidth Test", _BANDWIDTH, runs=NIGHTLY),
    _one_sided("acc_latency", "MPI_Accumulate latency Test", datatype=_INT),
    _one_sided("get_acc_latency", "MPI_Get_accumulate latency Test"),
    _one_sided("fop_latency", "MPI_Fetch_and_op latency Test", datatype=_INT, only=4),
    _one_sided("cas_latency", "MPI_Compare_and_swap latency Test", datatype=_INT, only=4),
)

# Gradients and weights: the MPI AI Cluster Benchmark has figures of 4 MiB for these two.
_COLLECTIVE = (
    _collective(
        "allreduce", "Allreduce", reduction=True, largest=_LARGEST, runs=NIGHTLY, in_probe=True
    ),
    _collective("reduce", "Reduce", reduction=True, runs=NIGHTLY, in_probe=True),
    _collective("bcast", "Broadcast", largest=_LARGEST, runs=NIGHTLY, in_probe=True),
    _collective("alltoall", "All-to-All Personalized Exchange", runs=NIGHTLY, in_probe=True),
    _collective("allgather", "Allgather", runs=NIGHTLY, in_probe=True),
    _collective("reduce_scatter", "Reduce_scatter", reduction=True, runs=NIGHTLY, in_probe=True),
    _collective("gather", "Gather", runs=NIGHTLY, in_probe=True),
    _collective("scatter", "Scatter", runs=NIGHTLY, in_probe=True),
    _collective("barrier", "Barrier", payload=False, runs=NIGHTLY, in_probe=True),
    _collective("allgatherv", "Allgatherv"),
    _collective("alltoallv", "All-to-Allv Personalized Exchange", runs=ACCEPTANCE),
    _collective("alltoallw", "All-to-Allw Personalized Exchange"),
    _collective("gatherv", "Gatherv"),
    _collective("scatterv", "Scatterv"),
    _collective("reduce_scatter_block", "Reduce_scatter_block", reduction=True),
)

_NONBLOCKING = (
    _nonblocking("iallreduce", "Allreduce", reduction=True, runs=NIGHTLY),
    _nonblocking("ireduce", "Reduce", reduction=True),
    _nonblocking("ibcast", "Broadcast", runs=ACCEPTANCE, blocking="Non-Blocking"),
    _nonblocking("ialltoall", "All-to-All", runs=NIGHTLY),
    _nonblocking("iallgather", "Allgather", runs=ACCEPTANCE),
    _nonblocking("ireduce_scatter", "Reduce_scatter", reduction=True),
    _nonblocking("ireduce_scatter_block", "Reduce_scatter_block", reduction=True),
    _nonblocking("igather", "Gather"),
    _nonblocking("iscatter", "Scatter"),
    _nonblocking("ibarrier", "Barrier", payload=False, runs=ACCEPTANCE),
    _nonblocking("iallgatherv", "Allgatherv"),
    _nonblocking("ialltoallv", "All-to-Allv Personalized Exchange"),
    _nonblocking("ialltoallw", "All-to-Allw Personalized Exchange"),
    _nonblocking("igatherv", "Gatherv"),
    _nonblocking("iscatterv", "Scatterv"),
)

_NEIGHBORHOOD = (
    _neighborhood("neighbor_allgather", "Neighborhood Allgather", ACCEPTANCE),
    _neighborhood("neighbor_allgatherv", "Neighborhood Allgatherv"),
    _neighborhood("neighbor_alltoall", "Neighborhood Alltoall", ACCEPTANCE),
    _neighborhood("neighbor_alltoallv", "Neighborhood All-to-Allv"),
    # OSU prints the title of osu_alltoallw.
    _neighborhood("neighbor_alltoallw", "All-to-Allw Personalized Exchange"),
    _neighborhood("ineighbor_allgather", "Neighborhood Allgather"),
    _neighborhood("ineighbor_allgatherv", "Neighborhood Allgatherv"),
    _neighborhood("ineighbor_alltoall", "Neighborhood Alltoall"),
    _neighborhood("ineighbor_alltoallv", "Neighborhood Alltoallv"),
    _neighborhood("ineighbor_alltoallw", "Neighborhood Alltoallw"),
)

# They exist where OSU was built with an MPI of version 4. Some start a request that receives into
# one buffer, and compare another: their validation fails whatever the MPI does (OSU 7.4).
_COMPARES_ANOTHER_BUFFER = ("allreduce", "allgather", "gather", "scatter")
_PERSISTENT = tuple(
    _collective(
        f"{name}_persistent",
        f"{operation} Persistent",
        family="persistent",
        reduction="reduce" in name,
        payload=name != "barrier",
        validates=name not in _COMPARES_ANOTHER_BUFFER,
    )
    for name, operation in (
        ("allreduce", "Allreduce"),
        ("reduce", "Reduce"),
        ("bcast", "Broadcast"),
        ("alltoall", "All-to-All Personalized Exchange"),
        ("allgather", "Allgather"),
        ("reduce_scatter", "Reduce_scatter"),
        ("gather", "Gather"),
        ("scatter", "Scatter"),
        ("barrier", "Barrier"),
        ("allgatherv", "Allgatherv"),
        ("alltoallv", "All-to-Allv Personalized Exchange"),
        ("alltoallw", "All-to-Allw Personalized Exchange"),
        ("gatherv", "Gatherv"),
        ("scatterv", "Scatterv"),
    )
)

_CONGESTION = (
    _congestion("bw_fan_in", "Bandwidth of all nodes into one"),
    _congestion("bw_fan_out", "Bandwidth of one node to all"),
)

_STARTUP = (
    _startup("init", "MPI Init Test", Metric.STARTUP, ("avg", "min", "max"), NIGHTLY),
    _startup("hello", "MPI Hello World Test", Metric.LAUNCH, ("avg",), NIGHTLY),
)

BENCHMARKS: Mapping[str, MpiBenchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            *_POINT_TO_POINT,
            *_COLLECTIVE,
            *_ONE_SIDED,
            *_NONBLOCKING,
            *_NEIGHBORHOOD,
            *_PERSISTENT,
            *_CONGESTION,
            *_STARTUP,
        )
    }
)

PROBE_BENCHMARKS: Mapping[str, MpiBenchmark] = MappingProxyType(
    {name: benchmark for name, benchmark in BENCHMARKS.items() if benchmark.in_probe}
)
"""Those that ``mpi_probe`` has as a subcommand of the same name."""
