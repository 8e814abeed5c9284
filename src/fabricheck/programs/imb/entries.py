"""The benchmarks of IMB (``benchmarks.csv``): those of IMB-MPI1, P2P, NBC and RMA.

EXT and IO, which hardly anybody runs today, MT and what measures on GPUs are not read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import RUN, Benchmark, Family, RanksRule, listed
from fabricheck.tables import maybe, one_of, pattern

FAMILIES: Final = (Family("imb", "Intel MPI Benchmarks", ("Imb",)),)


@dataclass(frozen=True, slots=True)
class ImbBenchmark(Benchmark):
    """A benchmark of IMB; one without ``runs`` is read and not measured.

    Attributes:
        component: the program that has it, after ``IMB-``.
        printed: its name in the output, which is also the program's argument.
        ranks: how many ranks it can run with.
        validates: false, as only a build with ``CHECK`` looks at the data received.
    """

    component: str
    printed: str
    ranks: RanksRule
    validates: bool = False


BENCHMARKS: Mapping[str, ImbBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"),
    ImbBenchmark,
    FAMILIES,
    component=one_of(("MPI1", "P2P", "NBC", "RMA")),
    printed=pattern(r"[A-Z]\w+", "PingPong"),
    runs=maybe(RUN, frozenset()),
)
