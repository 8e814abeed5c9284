"""The benchmarks of MPI: those of the OSU Micro-Benchmarks 7.x, whole (``benchmarks.csv``).

Titles, sizes and rules on ranks are those of OSU 7.4; ``mpi_probe`` measures some of them under the
same titles. Left out is ``osu_latency_mp``, which forks after ``MPI_Init`` and so breaks what RDMA
has registered; what OSU measures on GPUs is in the folder ``cuda_mpi``. Reductions are never left
at ``MPI_CHAR``.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import Family, MpiBenchmark, listed
from fabricheck.tables import TEXT, maybe

PROGRAMS: Final = ("mpi_probe",)
FAMILIES: Final = (
    Family(
        "pt2pt",
        "point to point",
        ("MpiPointToPoint", "MpiPointToPointFull", "MpiSwitchGroup"),
        "MPI",
    ),
    Family("collective", "collective", ("MpiCollective",), "MPI"),
    Family("one_sided", "one-sided", ("MpiOneSided",), "MPI"),
    Family("nonblocking", "non-blocking collective", ("MpiNonblocking",), "MPI"),
    Family("neighborhood", "collective of neighbours", ("MpiNeighborhood",), "MPI"),
    Family("persistent", "persistent collective", ("MpiPersistent",), "MPI"),
    Family("congestion", "congestion", ("MpiCongestion",), "MPI"),
    Family("startup", "start of a job", ("MpiStartup",)),
)
DERIVED: Final = ("TransportOrder",)


_LISTED = listed(
    Path(__file__).with_name("benchmarks.csv"), MpiBenchmark, FAMILIES, title=maybe(TEXT, "")
)
BENCHMARKS: Mapping[str, MpiBenchmark] = {
    name: replace(each, title=each.title or each.printed.removeprefix("MPI "))
    for name, each in _LISTED.items()
}
PROBE_BENCHMARKS: Mapping[str, MpiBenchmark] = {
    name: benchmark for name, benchmark in BENCHMARKS.items() if benchmark.in_probe
}
"""Those that ``mpi_probe`` has as a subcommand of the same name."""
