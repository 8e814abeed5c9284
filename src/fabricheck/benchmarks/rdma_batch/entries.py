"""The benchmarks of ``rdma_batch``: what perftest does not measure, and how it compares."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import ACCEPTANCE, NIGHTLY, Family, ProgramBenchmark
from fabricheck.units import MIB

PROGRAMS: Final = ("rdma_batch",)
FAMILIES: Final = (
    Family("rdma_batch", "own program", ("RdmaBatch",)),
    Family("rdma_batch_ratio", "own program", ("RdmaBatchBeside",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep(ProgramBenchmark):
    """A sweep of ``rdma_batch``, over the size of a transfer or over the number in a batch.

    Attributes:
        transfer: bytes of one transfer where the batch is swept, so that sizes are those of whole
            batches; ``None`` where the size of a transfer is.
        most_devices: RDMA devices of a node that are used, if it has so many.
    """

    transfer: int | None = None
    most_devices: int = 1

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Both statistics of the latency; the greatest bandwidth is that of the least latency."""
        return (
            *((Metric.LATENCY, statistic) for statistic in self.statistics),
            (Metric.BANDWIDTH, "avg"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(ProgramBenchmark):
    """``rdma_batch`` beside another run in the same job: how many times better it is.

    Attributes:
        batch: transfers of a batch.
        rival: the program of the other run.
        rival_options: its options.
        of: what is compared. Of a latency the median of the other run is divided by that of this
            one, of a bandwidth the average of this one by that of the other: more is better.
    """

    batch: int
    rival: str
    rival_options: tuple[str, ...]
    of: Metric


_BATCHED = ("--enable-sess", "--enable-batch-transfer")


def _sweep(
    name: str,
    title: str,
    *options: str,
    sizes: tuple[int, int] = (8, MIB),
    transfer: int | None = None,
    most_devices: int = 1,
) -> Sweep:
    return Sweep(
        name=f"rdma_batch_{name}",
        family="rdma_batch",
        title=title,
        metrics=(Metric.LATENCY, Metric.BANDWIDTH),
        statistics=("avg", "min"),
        min_size=sizes[0],
        max_size=sizes[1],
        program="rdma_batch",
        options=(*_BATCHED, *options),
        transports=("rc",),
        runs=NIGHTLY,
        transfer=transfer,
        most_devices=most_devices,
    )


def _comparison(
    name: str,
    title: str,
    options: tuple[str, ...],
    rival: tuple[str, ...],
    *,
    batch: int = 1,
    of: Metric = Metric.LATENCY,
    runs: frozenset[str] = ACCEPTANCE,
) -> Comparison:
    return Comparison(
        name=f"rdma_batch_{name}",
        family="rdma_batch_ratio",
        title=title,
        metrics=(Metric.RATIO,),
        statistics=("p50",),
        min_size=_SMALL if of is Metric.LATENCY else _LARGE,
        max_size=_SMALL if of is Metric.LATENCY else MIB,
        program="rdma_batch",
        options=options,
        transports=("rc",),
        runs=runs,
        batch=batch,
        rival=rival[0],
        rival_options=rival[1:],
        of=of,
    )


_SMALL, _LARGE = 8, 64 << 10
_READ, _WRITE = ("--op", "read"), ("--op", "write")
_DEPTH = ("--sq-depth", "128", "--post-batch", "16")
_PERFTEST_DEPTH = ("-t", "128")
_PAIRS = ("--num-qp-per-transfer", "4")

# The sweeps are those of the MORI-IO results. perftest's ib_write_lat is half a round trip of two
# writes that are seen in memory; what a batch of one write waits for is its acknowledgement, which
# is what ib_write_bw measures with one write in flight (docs/reference/programs/rdma_batch.md).
SWEEPS = (
    _sweep(
        "read",
        "Batches of 256 RDMA reads",
        *_READ,
        *("--num-qp-per-transfer", "2", "--transfer-batch-size", "256"),
        most_devices=8,
    ),
    _sweep(
        "write",
        "Batches of 128 RDMA writes",
        *_WRITE,
        *("--num-qp-per-transfer", "4", "--transfer-batch-size", "128"),
    ),
    _sweep(
        "write_batches",
        "RDMA writes of 1 KiB, one to 32768 in a batch",
        *_WRITE,
        *("--num-qp-per-transfer", "16", "--buffer-size", "1024"),
        sizes=(1 << 10, 32 * MIB),
        transfer=1 << 10,
    ),
)
COMPARISONS = (
    _comparison(
        "read_latency",
        "A single read beside perftest's",
        (*_BATCHED, *_READ),
        ("ib_read_lat",),
        runs=NIGHTLY,
    ),
    _comparison(
        "write_latency",
        "A single write beside perftest's",
        (*_BATCHED, *_WRITE),
        ("ib_write_bw", "-t", "1"),
        runs=NIGHTLY,
    ),
    _comparison(
        "read_bandwidth",
        "Batches of 256 reads beside perftest's bandwidth",
        (*_BATCHED, *_READ, *_DEPTH),
        ("ib_read_bw", *_PERFTEST_DEPTH),
        batch=256,
        of=Metric.BANDWIDTH,
        runs=NIGHTLY,
    ),
    _comparison(
        "write_bandwidth",
        "Batches of 256 writes beside perftest's bandwidth",
        (*_BATCHED, *_WRITE, *_DEPTH),
        ("ib_write_bw", *_PERFTEST_DEPTH),
        batch=256,
        of=Metric.BANDWIDTH,
        runs=NIGHTLY,
    ),
    _comparison(
        "session",
        "Small writes with a session beside looking up each",
        ("--enable-sess", *_WRITE),
        ("rdma_batch", *_WRITE),
        batch=128,
    ),
    _comparison(
        "polling",
        "Small batches polled for beside waiting for events",
        (*_BATCHED, *_WRITE),
        ("rdma_batch", *_BATCHED, *_WRITE, "--poll-cq-mode", "event"),
    ),
    _comparison(
        "queue_pairs",
        "Large writes over four queue pairs beside one",
        (*_BATCHED, *_WRITE, *_PAIRS),
        ("rdma_batch", *_BATCHED, *_WRITE),
        batch=64,
        of=Metric.BANDWIDTH,
    ),
)

BENCHMARKS: Mapping[str, ProgramBenchmark] = MappingProxyType(
    {benchmark.name: benchmark for benchmark in (*SWEEPS, *COMPARISONS)}
)
