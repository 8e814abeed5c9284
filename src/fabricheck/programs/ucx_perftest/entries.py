"""The benchmarks of ucx_perftest, which has one percentile in its table: the median."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import Family, ProgramBenchmark, listed, options
from fabricheck.tables import one_of

FAMILIES: Final = (Family("ucx", "without MPI", ("UcxPerftest",), "UCX"),)


BENCHMARKS: Mapping[str, ProgramBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"),
    ProgramBenchmark,
    FAMILIES,
    program=one_of(("ucx_perftest",)),
    options=options(
        "-t ((tag|stream|ucp_am|ucp_put)_(lat|bw)|ucp_get -O [0-9]+)", "-t ucp_get -O 1"
    ),
)
