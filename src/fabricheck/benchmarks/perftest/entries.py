"""The benchmarks of perftest: a variant differs from the plain benchmark in one option."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabricheck.benchmarks.benchmark import Family, ProgramBenchmark
from fabricheck.benchmarks.listed import listed

FAMILIES: Final = (Family("verbs", "without MPI and UCX", ("VerbsPerftest",), "verbs"),)
BENCHMARKS: Mapping[str, ProgramBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"), ProgramBenchmark
)
