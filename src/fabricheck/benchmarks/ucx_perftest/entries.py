"""The benchmarks of ucx_perftest, which has one percentile in its table: the median."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabricheck.benchmarks.benchmark import Family, ProgramBenchmark
from fabricheck.benchmarks.listed import listed

FAMILIES: Final = (Family("ucx", "without MPI", ("UcxPerftest",), "UCX"),)


BENCHMARKS: Mapping[str, ProgramBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"), ProgramBenchmark
)
