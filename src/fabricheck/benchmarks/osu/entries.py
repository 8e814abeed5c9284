"""The benchmarks of MPI: those of the OSU Micro-Benchmarks 7.x, whole (``benchmarks.csv``).

Titles, sizes and rules on ranks are those of OSU 7.4; ``mpi_probe`` measures some of them under the
same titles. Left out is ``osu_latency_mp``, which forks after ``MPI_Init`` and so breaks what RDMA
has registered; what OSU measures on GPUs is in the folder ``cuda_mpi``. Reductions are never left
at ``MPI_CHAR``.

How they are called stands in ``options``.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import RUNS, Family, MpiBenchmark, RanksRule
from fabricheck.units import parse_size

PROGRAMS: Final = ("mpi_probe",)
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


def _benchmark(row: Mapping[str, str]) -> MpiBenchmark:
    return MpiBenchmark(
        name=row["name"],
        family=row["family"],
        title=row["title"] or row["printed"].removeprefix("MPI "),
        metrics=tuple(map(Metric, row["metrics"].split())),
        statistics=tuple(row["statistics"].split()),
        min_size=parse_size(row["least"]) if row["least"] else None,
        max_size=parse_size(row["most"]) if row["most"] else None,
        runs=frozenset(RUNS[RUNS.index(row["first run"]) :]),
        osu_program=f"osu_{row['name']}",
        printed=row["printed"],
        datatype=row["datatype"] or None,
        ranks=RanksRule(row["ranks"]),
        validates=row["validates"] == "yes",
        in_probe=row["in mpi_probe"] == "yes",
        smoke_on=tuple(row["smoke on"].split()) if row["smoke on"] else None,
    )


def _rows() -> list[Mapping[str, str]]:
    lines = Path(__file__).with_name("benchmarks.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


BENCHMARKS: Mapping[str, MpiBenchmark] = MappingProxyType(
    {row["name"]: _benchmark(row) for row in _rows()}
)

PROBE_BENCHMARKS: Mapping[str, MpiBenchmark] = MappingProxyType(
    {name: benchmark for name, benchmark in BENCHMARKS.items() if benchmark.in_probe}
)
"""Those that ``mpi_probe`` has as a subcommand of the same name."""
