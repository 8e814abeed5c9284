"""The benchmarks that fabricheck runs and judges: data, not classes.

Those of MPI have the titles, default sizes and option rules of the OSU Micro-Benchmarks 7.4;
``mpi_probe`` prints the same titles. Those below MPI, perftest's (``verbs``) and ucx_perftest's
(``ucx``), are each a program with its options: a variant differs from the plain benchmark in one
option.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from fabricheck.errors import FabricheckError

KIB = 1 << 10
MIB = 1 << 20

Family = Literal["pt2pt", "collective", "verbs", "ucx"]


class Metric(StrEnum):
    """What a benchmark measures."""

    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    MESSAGE_RATE = "message_rate"
    RATIO = "ratio"
    CLOCK_SKEW = "clock_skew"
    UNMET = "unmet"
    ERROR_RATIO = "error_ratio"
    CE_RATIO = "ce_ratio"
    ECN_RATE = "ecn_rate"
    PAUSE_RATE = "pause_rate"


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
        Metric.CLOCK_SKEW: "us",
        Metric.UNMET: "1",
        Metric.ERROR_RATIO: "1",
        Metric.CE_RATIO: "1",
        Metric.ECN_RATE: "1/s",
        Metric.PAUSE_RATE: "1/s",
    }
)
"""Units as the programs print them; a MB is 10^6 bytes, as in OSU. A ratio has the unit 1: slower
path over faster one, lost or marked packets over all; so has the number of prerequisites that a
node does not meet."""

DIRECTIONS: Mapping[Metric, Direction] = MappingProxyType(
    {
        Metric.LATENCY: Direction.LOWER,
        Metric.BANDWIDTH: Direction.HIGHER,
        Metric.MESSAGE_RATE: Direction.HIGHER,
        Metric.RATIO: Direction.HIGHER,
        Metric.CLOCK_SKEW: Direction.LOWER,
        Metric.UNMET: Direction.LOWER,
        Metric.ERROR_RATIO: Direction.LOWER,
        Metric.CE_RATIO: Direction.LOWER,
        Metric.ECN_RATE: Direction.LOWER,
        Metric.PAUSE_RATE: Direction.LOWER,
    }
)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is known of every benchmark.

    Attributes:
        name: short name, the key in references, perflogs and reports.
        family: ``pt2pt`` or ``collective`` of MPI, ``verbs`` or ``ucx``.
        title: what it is, in words; of an MPI benchmark what stands between ``MPI`` and the version
            in the title line of the output.
        metrics: what is measured.
        statistics: the statistics that are recorded and judged.
        min_size: smallest message in bytes, ``None`` if the benchmark sends no payload.
        max_size: largest message in bytes, ``None`` if the benchmark sends no payload.
    """

    name: str
    family: Family
    title: str
    metrics: tuple[Metric, ...]
    statistics: tuple[str, ...]
    min_size: int | None
    max_size: int | None


@dataclass(frozen=True, slots=True)
class MpiBenchmark(Benchmark):
    """A benchmark of MPI, which ``mpi_probe`` has as a subcommand of the same name.

    Attributes:
        osu_program: the OSU program that measures the same.
        datatype: what to pass with ``-T``; ``None`` for the program's default. Reductions are
            never left at ``MPI_CHAR``: data validation of ``osu_allreduce`` then fails on a
            healthy Open MPI 4.1.4 (its ``op/avx`` component).
        ranks: how many ranks it can run with.
    """

    osu_program: str
    datatype: str | None
    ranks: RanksRule


@dataclass(frozen=True, slots=True)
class PairBenchmark(Benchmark):
    """A benchmark below MPI: a program that runs as a server and as its client.

    Attributes:
        program: the program on ``PATH``.
        options: what makes the program this benchmark; never sizes, counts, devices or transports.
        transports: the transports that it can use.
        runs: the runs that it belongs to, as tags: ``smoke``, ``nightly``, ``acceptance``.
        needs: features that a partition must offer beside those of the transport.
    """

    program: str
    options: tuple[str, ...]
    transports: tuple[str, ...]
    runs: frozenset[str]
    needs: tuple[str, ...] = ()


_LATENCY_STATISTICS = ("avg", "p50", "p99")


def _pt2pt(
    name: str, title: str, metrics: tuple[Metric, ...], ranks: RanksRule = RanksRule.EXACTLY_TWO
) -> MpiBenchmark:
    statistics = _LATENCY_STATISTICS if Metric.LATENCY in metrics else ("avg",)
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
        statistics=_LATENCY_STATISTICS,
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


RUNS = ("smoke", "nightly", "acceptance")
"""The tags that say when a check runs."""

_ACCEPTANCE = frozenset({"acceptance"})
_NIGHTLY = _ACCEPTANCE | {"nightly"}
_SMOKE = _NIGHTLY | {"smoke"}

_BANDWIDTH_AND_RATE = (Metric.BANDWIDTH, Metric.MESSAGE_RATE)
_ATOMIC_SIZE = 8
_INLINE_SIZE = 64
"""Bytes that a request itself can carry on any card."""

# What each operation can run over: the table in ibv_post_send(3).
_VERBS_TRANSPORTS: Mapping[str, tuple[str, ...]] = {
    "send": ("rc", "uc", "ud"),
    "write": ("rc", "uc"),
    "read": ("rc",),
    "atomic": ("rc",),
}


@dataclass(frozen=True, slots=True)
class _Variant:
    """One option that changes a verbs benchmark, and which of them it changes."""

    suffix: str
    title: str
    options: tuple[str, ...]
    changes: tuple[str, ...]
    nightly: tuple[str, ...] = ()
    largest: int = 8 * MIB
    needs: tuple[str, ...] = ()


_BW = tuple(f"{operation}_bw" for operation in _VERBS_TRANSPORTS)
# A write leaves no completion at its target that could wake it, so perftest's write tests have no
# -e; requests of reads and atomics carry no data, so theirs have no -I.
_VERBS_VARIANTS = (
    *(
        _Variant(
            f"_qp{count}",
            f", {count} queue pairs",
            ("-q", str(count)),
            _BW,
            nightly=("write_bw",) if count in (4, 16) else (),
        )
        for count in (2, 4, 8, 16)
    ),
    _Variant("_post16", ", 16 requests posted at once", ("-l", "16"), _BW, nightly=("write_bw",)),
    _Variant(
        "_inline",
        ", data inside the request",
        ("-I", str(_INLINE_SIZE)),
        ("send_bw", "send_lat", "write_bw", "write_lat"),
        nightly=("send_lat",),
        largest=_INLINE_SIZE,
        needs=("inline",),
    ),
    _Variant(
        "_events",
        ", sleeping on events instead of polling",
        ("-e",),
        ("send_bw", "send_lat", "read_bw", "read_lat", "atomic_bw", "atomic_lat"),
        nightly=("send_lat",),
    ),
    _Variant("_bidir", ", both directions at once", ("-b",), _BW, nightly=("write_bw",)),
)
_SMOKE_TESTS = ("send_lat", "write_bw")


_PLAIN = _Variant("", "", (), ())


def _verbs(test: str, variant: _Variant = _PLAIN) -> PairBenchmark:
    """A test of perftest; variants run over RC, to differ from the plain test in one thing."""
    operation, _, kind = test.partition("_")
    is_plain, is_latency = variant is _PLAIN, kind == "lat"
    if is_plain:
        runs = _SMOKE if test in _SMOKE_TESTS else _NIGHTLY
    else:
        runs = _NIGHTLY if test in variant.nightly else _ACCEPTANCE
    is_atomic = operation == "atomic"
    return PairBenchmark(
        name=f"ib_{test}{variant.suffix}",
        family="verbs",
        title=f"verbs {operation} {'latency' if is_latency else 'bandwidth'}{variant.title}",
        metrics=(Metric.LATENCY,) if is_latency else _BANDWIDTH_AND_RATE,
        statistics=_LATENCY_STATISTICS if is_latency else ("avg",),
        min_size=_ATOMIC_SIZE if is_atomic else 2,
        max_size=_ATOMIC_SIZE if is_atomic else variant.largest,
        program=f"ib_{test}",
        options=variant.options,
        transports=_VERBS_TRANSPORTS[operation] if is_plain else ("rc",),
        runs=runs,
        needs=variant.needs,
    )


def _ucx(
    name: str, test: str, title: str, *options: str, runs: frozenset[str] = _ACCEPTANCE
) -> PairBenchmark:
    """A test of ucx_perftest, which has one percentile in its table: the median."""
    is_latency = name.endswith("_lat")
    return PairBenchmark(
        name=f"ucx_{name}",
        family="ucx",
        title=f"UCX {title}",
        metrics=(Metric.LATENCY,) if is_latency else _BANDWIDTH_AND_RATE,
        statistics=("avg", "p50") if is_latency else ("avg",),
        min_size=1,
        max_size=4 * MIB,
        program="ucx_perftest",
        options=("-t", test, *options),
        transports=("rc", "ud", "dc", "tcp", "shm"),
        runs=runs,
    )


PAIR_BENCHMARKS: Mapping[str, PairBenchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            *(
                _verbs(f"{operation}_{kind}")
                for operation in _VERBS_TRANSPORTS
                for kind in ("lat", "bw")
            ),
            *(_verbs(test, variant) for variant in _VERBS_VARIANTS for test in variant.changes),
            _ucx("tag_lat", "tag_lat", "tagged message latency", runs=_SMOKE),
            _ucx("tag_bw", "tag_bw", "tagged message bandwidth", runs=_SMOKE),
            _ucx("stream_lat", "stream_lat", "stream latency"),
            _ucx("stream_bw", "stream_bw", "stream bandwidth"),
            _ucx("am_lat", "ucp_am_lat", "active message latency"),
            _ucx("am_bw", "ucp_am_bw", "active message bandwidth"),
            _ucx("put_lat", "ucp_put_lat", "put latency"),
            _ucx("put_bw", "ucp_put_bw", "put bandwidth", runs=_NIGHTLY),
            # One get at a time shows its latency, many at a time the bandwidth.
            _ucx("get_lat", "ucp_get", "get latency", "-O", "1", runs=_NIGHTLY),
            _ucx("get_bw", "ucp_get", "get bandwidth", "-O", "32"),
        )
    }
)

REGISTRY: Mapping[str, Benchmark] = MappingProxyType({**MPI_BENCHMARKS, **PAIR_BENCHMARKS})


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
