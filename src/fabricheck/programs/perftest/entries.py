"""The benchmarks of perftest: a variant differs from the plain benchmark in one option."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabricheck.measures.benchmark import Family, ProgramBenchmark, listed, options
from fabricheck.tables import one_of

FAMILIES: Final = (Family("verbs", "without MPI and UCX", ("VerbsPerftest",), "verbs"),)
GPU: Final = "--gpu"
"""Stands for the options by which perftest takes memory of a GPU, which differ by vendor."""
OPERATIONS: Final = ("send", "write", "read", "atomic")
PERFTEST: Final = [f"ib_{name}_{kind}" for name in OPERATIONS for kind in ("lat", "bw")]
BENCHMARKS: Mapping[str, ProgramBenchmark] = listed(
    Path(__file__).with_name("benchmarks.csv"),
    ProgramBenchmark,
    FAMILIES,
    program=one_of(PERFTEST),
    options=options(f"(-[qlI] [0-9]+|-[eb]|{GPU})?", "-q 2"),
)
