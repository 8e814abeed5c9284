"""The benchmarks of ``nccl_probe``: collectives of NCCL, and iterations of a training with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import Family, ProgramBenchmark, listed, options
from fabricheck.measures.metrics import Metric
from fabricheck.programs.allreduce_lab.entries import MODELS, TAILS
from fabricheck.tables import maybe, one_of

PROGRAM: Final = "nccl_probe"
SHARED: Final = "share_gpu"
"""What a curve's metadata call it that several ranks had one GPU: ``True`` or ``False``."""

PROGRAMS: Final = ("nccl_probe",)
FAMILIES: Final = (
    Family("nccl", "collectives of NCCL", ("Nccl",), opens_ports=True),
    Family(
        "nccl-training", "a training's iteration with NCCL", ("NcclIteration",), opens_ports=True
    ),
)

OPERATIONS: Mapping[str, str] = {
    "allreduce": "AllReduce",
    "reduce": "Reduce",
    "bcast": "Broadcast",
    "allgather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "alltoall": "AlltoAll",
}
"""Collectives of the program, each with the name that NCCL's log gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclBenchmark(ProgramBenchmark):
    """A collective of NCCL.

    Attributes:
        collective: subcommand of the program.
        scheme: ``ring`` or ``tree``; ``auto`` where NCCL chooses.
        model: what is trained, by an iteration of which a sum of each bucket is a part; empty for
            the collective alone.
        tail: the partition's feature that its network has such a tail, by other traffic.
    """

    collective: str
    scheme: str
    model: str = ""
    tail: str = ""

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Time of an operation on the slowest rank, and the bus bandwidth of nccl-tests."""
        if self.model:
            return tuple((metric, "avg") for metric in self.metrics)
        times = tuple((Metric.LATENCY, each) for each in self.statistics)
        return (*times, (Metric.BANDWIDTH, "avg"))


def benchmark_name(collective: str, scheme: str) -> str:
    """Name in the registry of a collective in a scheme.

    >>> benchmark_name("allreduce", "ring"), benchmark_name("bcast", "auto")
    ('nccl_allreduce_ring', 'nccl_bcast')
    """
    return f"nccl_{collective}{'' if scheme == 'auto' else f'_{scheme}'}"


BENCHMARKS: Mapping[str, NcclBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"),
    NcclBenchmark,
    FAMILIES,
    program=one_of(PROGRAMS),
    options=options(f"({'|'.join(OPERATIONS)}) --scheme (auto|ring|tree)", "bcast --scheme auto"),
    collective=one_of(OPERATIONS.keys()),
    scheme=one_of(("auto", "ring", "tree")),
    model=maybe(one_of(MODELS.keys()), ""),
    tail=maybe(one_of(TAILS), ""),
)
