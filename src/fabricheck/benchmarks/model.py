"""What is known of a benchmark: its metrics, units, sizes and how it is run."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

KIB = 1 << 10
MIB = 1 << 20

Family = Literal["pt2pt", "collective", "verbs", "ucx", "program"]


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
        family: ``pt2pt`` or ``collective`` of MPI, ``verbs`` or ``ucx``, or ``program`` of our own.
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


RUNS = ("smoke", "nightly", "acceptance")
"""The tags that say when a check runs."""

ACCEPTANCE = frozenset({"acceptance"})
NIGHTLY = ACCEPTANCE | {"nightly"}
SMOKE = NIGHTLY | {"smoke"}

LATENCY_STATISTICS = ("avg", "p50", "p99")
