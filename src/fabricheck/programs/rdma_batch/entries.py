"""The benchmarks of ``rdma_batch``: what perftest does not measure, and how it compares."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import SIZE, Family, ProgramBenchmark, listed, options
from fabricheck.measures.metrics import Metric
from fabricheck.programs.perftest.entries import PERFTEST
from fabricheck.tables import NUMBER, maybe, one_of

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


_OPTION = (
    r"--(enable-sess|enable-batch-transfer|poll-cq-mode event|op (read|write)"
    r"|(num-qp-per-transfer|transfer-batch-size|buffer-size|sq-depth|post-batch) [0-9]+)"
)
_OPTIONS = options(f"{_OPTION}( {_OPTION})*", "--op read")
SWEEPS: Mapping[str, Sweep] = listed(
    Path(__file__).with_name("sweeps.csv"),
    Sweep,
    FAMILIES,
    program=one_of(PROGRAMS),
    options=_OPTIONS,
    transfer=maybe(SIZE),
    most_devices=NUMBER,
)
COMPARISONS: Mapping[str, Comparison] = listed(
    Path(__file__).with_name("comparisons.csv"),
    Comparison,
    FAMILIES,
    program=one_of(PROGRAMS),
    options=_OPTIONS,
    batch=NUMBER,
    of=one_of((Metric.LATENCY, Metric.BANDWIDTH)),
    rival=one_of((*PROGRAMS, *PERFTEST)),
    rival_options=options(f"(-t [0-9]+)?|{_OPTION}( {_OPTION})*", "-t 1"),
)
BENCHMARKS: Mapping[str, ProgramBenchmark] = {**SWEEPS, **COMPARISONS}
