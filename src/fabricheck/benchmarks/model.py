"""What is known of a benchmark: its metrics, units, sizes and how it is run."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

KIB = 1 << 10
MIB = 1 << 20

Family = Literal[
    "pt2pt",
    "collective",
    "one_sided",
    "nonblocking",
    "neighborhood",
    "persistent",
    "congestion",
    "startup",
    "verbs",
    "ucx",
    "program",
]


class Metric(StrEnum):
    """What a benchmark measures."""

    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    MESSAGE_RATE = "message_rate"
    COMMUNICATION = "communication"
    OVERLAP = "overlap"
    STARTUP = "startup"
    LAUNCH = "launch"
    TOTAL = "total"
    TRANSFER_A = "transfer_a"
    BROADCAST_B = "broadcast_b"
    COMPUTE = "compute"
    TRANSFER_C = "transfer_c"
    VARIATION = "variation"
    RATIO = "ratio"
    CLOCK_SKEW = "clock_skew"
    UNMET = "unmet"
    ERROR_RATIO = "error_ratio"
    CE_RATIO = "ce_ratio"
    ECN_RATE = "ecn_rate"
    PAUSE_RATE = "pause_rate"


BY_ORDER = frozenset(
    {
        Metric.TOTAL,
        Metric.TRANSFER_A,
        Metric.BROADCAST_B,
        Metric.COMPUTE,
        Metric.TRANSFER_C,
        Metric.VARIATION,
    }
)
"""Metrics of matrix multiplication: their sizes are orders of the matrices, not bytes."""


class Direction(StrEnum):
    """Which values of a metric are better."""

    LOWER = "lower"
    HIGHER = "higher"


class RanksRule(StrEnum):
    """How many MPI ranks a benchmark can run with."""

    EXACTLY_TWO = "exactly two"
    EVEN = "an even number"
    AT_LEAST_TWO = "at least two"
    AT_LEAST_THREE = "at least three"

    @property
    def least(self) -> int:
        """The fewest ranks."""
        return 3 if self is RanksRule.AT_LEAST_THREE else 2

    @property
    def all_at_once(self) -> bool:
        """Whether all ranks take part in one operation, however many there are."""
        return self in (RanksRule.AT_LEAST_TWO, RanksRule.AT_LEAST_THREE)


UNITS: Mapping[Metric, str] = MappingProxyType(
    {
        Metric.LATENCY: "us",
        Metric.BANDWIDTH: "MB/s",
        Metric.MESSAGE_RATE: "messages/s",
        Metric.COMMUNICATION: "us",
        Metric.OVERLAP: "%",
        Metric.STARTUP: "ms",
        Metric.LAUNCH: "ms",
        Metric.TOTAL: "us",
        Metric.TRANSFER_A: "us",
        Metric.BROADCAST_B: "us",
        Metric.COMPUTE: "us",
        Metric.TRANSFER_C: "us",
        Metric.VARIATION: "1",
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
path over faster one, lost or marked packets over all, standard deviation over mean; so has the
number of prerequisites that a node does not meet."""

DIRECTIONS: Mapping[Metric, Direction] = MappingProxyType(
    {
        Metric.LATENCY: Direction.LOWER,
        Metric.BANDWIDTH: Direction.HIGHER,
        Metric.MESSAGE_RATE: Direction.HIGHER,
        Metric.COMMUNICATION: Direction.LOWER,
        Metric.OVERLAP: Direction.HIGHER,
        Metric.STARTUP: Direction.LOWER,
        Metric.LAUNCH: Direction.LOWER,
        Metric.TOTAL: Direction.LOWER,
        Metric.TRANSFER_A: Direction.LOWER,
        Metric.BROADCAST_B: Direction.LOWER,
        Metric.COMPUTE: Direction.LOWER,
        Metric.TRANSFER_C: Direction.LOWER,
        Metric.VARIATION: Direction.LOWER,
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
        family: ``verbs``, ``ucx``, ``program`` for one of our own, or a family of MPI benchmarks.
        title: what it is, in words.
        metrics: what is measured, the one that names the benchmark first.
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

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Metric and statistic of each value that is recorded and judged at a size."""
        return tuple((metric, each) for metric in self.metrics for each in self.statistics)


@dataclass(frozen=True, slots=True)
class MpiBenchmark(Benchmark):
    """A benchmark of MPI.

    Attributes:
        osu_program: the OSU program that measures it.
        printed: what stands between the program and its version in the title line of the output.
            Some OSU programs print the title of another.
        datatype: what to pass with ``-T``; ``None`` for the program's default. Reductions are
            never left at ``MPI_CHAR``: data validation of ``osu_allreduce`` then fails on a
            healthy Open MPI 4.1.4 (its ``op/avx`` component).
        ranks: how many ranks it can run with.
        runs: the runs that it belongs to, as tags of ``RUNS``.
        validates: whether OSU can check the data received (``-c``).
        in_probe: whether ``mpi_probe`` measures it too, as a subcommand of the same name.
    """

    osu_program: str
    printed: str
    datatype: str | None
    ranks: RanksRule
    runs: frozenset[str]
    validates: bool = True
    in_probe: bool = False

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """As of every benchmark; of a metric beside the first only the average."""
        first, *others = self.metrics
        return (
            *((first, statistic) for statistic in self.statistics),
            *((metric, "avg") for metric in others),
        )


@dataclass(frozen=True, slots=True)
class PairBenchmark(Benchmark):
    """A benchmark below MPI: a program that runs as a server and as its client.

    Attributes:
        program: the program on ``PATH``.
        options: what makes the program this benchmark; never sizes, counts, devices or transports.
        transports: the transports that it can use.
        runs: the runs that it belongs to, as tags of ``RUNS``.
        needs: features that a partition must offer beside those of the transport.
    """

    program: str
    options: tuple[str, ...]
    transports: tuple[str, ...]
    runs: frozenset[str]
    needs: tuple[str, ...] = ()


RUNS = ("smoke", "nightly", "acceptance", "full")
"""The tags that say when a check runs, each run with all of the one before it: a look at the fabric
in minutes; every night; before and after a change; everything there is."""

FULL = frozenset({"full"})
ACCEPTANCE = FULL | {"acceptance"}
NIGHTLY = ACCEPTANCE | {"nightly"}
SMOKE = NIGHTLY | {"smoke"}

LATENCY_STATISTICS = ("avg", "p50", "p99")
