"""The benchmarks of our own programs: what neither OSU nor perftest measures."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fabricheck.benchmarks.model import Benchmark


@dataclass(frozen=True, slots=True)
class ProgramBenchmark(Benchmark):
    """A benchmark of one of our programs in ``src/bench``, started in one MPI or Slurm job.

    Attributes:
        program: the program's name, which is also that of its folder.
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


PROGRAM_BENCHMARKS: Mapping[str, ProgramBenchmark] = MappingProxyType({})
