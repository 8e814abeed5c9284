"""What GPCNet measures: alone, beside congestion, and how much worse beside it.

They are read and not measured: beside traffic of its own the suite runs ``mpi_under_load``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import RUN, Benchmark, Family, listed
from fabricheck.tables import TEXT, maybe, one_of

FAMILIES: Final = (Family("gpcnet", "GPCNet", ("Gpcnet",)),)


@dataclass(frozen=True, slots=True)
class GpcnetBenchmark(Benchmark):
    """A row of its tables.

    Attributes:
        printed: its name there.
        table: ``isolated``, ``congested``, or ``impact`` for the congestion impact factors.
    """

    printed: str
    table: str


BENCHMARKS: Mapping[str, GpcnetBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"),
    GpcnetBenchmark,
    FAMILIES,
    printed=TEXT,
    table=one_of(("isolated", "congested", "impact")),
    runs=maybe(RUN, frozenset()),
)
