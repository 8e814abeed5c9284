"""A record of quiet nights for tests: two MPIs, two benchmarks, some sizes."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from tests.history.recorded import read

from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.record.write import append

FIRST = datetime(2026, 9, 1, 6, tzinfo=UTC)
SIZES = (8, 1024)
MPIS = {"openmpi": "Open MPI v4.1.4, package: Debian", "mpich": "MPICH Version: 4.0.2"}
STATISTICS = {"latency": ("avg", "p50", "p99"), "bw": ("avg",)}
LEVELS = {"latency": 10.0, "bw": 900.0}

Factor = Callable[[int, CaseEntry, Sample], float]


def unchanged(_night: int, _case: CaseEntry, _sample: Sample) -> float:
    return 1.0


def records(
    nights: int, factor: Factor = unchanged, spread: float = 0.02, **changes: Any
) -> list[CaseEntry]:
    """Cases of normal noise, the same for the same arguments."""
    generator = np.random.default_rng(1)
    cases = []
    for night in range(nights):
        for mpi, version in MPIS.items():
            for benchmark, statistics in STATISTICS.items():
                given = {**_fields(night, mpi, benchmark), "mpi_version": version, **changes}
                samples = []
                metric, unit = ("bandwidth", "MB/s") if benchmark == "bw" else ("latency", "us")
                for statistic in statistics:
                    for size in SIZES:
                        sample = Sample(
                            metric=metric, statistic=statistic, size=size, unit=unit, level="good"
                        )
                        noise = np.exp(spread * generator.standard_normal())
                        value = (
                            LEVELS[benchmark] * noise * factor(night, CaseEntry(**given), sample)
                        )
                        samples.append(replace(sample, value=float(f"{value:.6g}")))
                cases.append(CaseEntry(**given, samples=tuple(samples)))
    return cases


def _fields(night: int, mpi: str, benchmark: str) -> dict[str, Any]:
    return {
        "time": (FIRST + timedelta(days=night)).isoformat(),
        "level": "good",
        "result": "pass",
        "system": "hpc",
        "partition": "cpu",
        "environ": mpi,
        "check": "MpiPointToPoint",
        "benchmark": benchmark,
        "transport": "rc",
        "num_nodes": 2,
        "ranks": 2,
        "ranks_per_node": 1,
        "mpi": mpi,
        "ucx_version": "1.13.1",
        "program": "mpi_probe",
        "program_version": "0.1.0",
        "job": f"{night}-{mpi}-{benchmark}",
        "commit": "b59301a",
        "session": f"session-{night}",
    }


def history(root: Path, cases: Sequence[CaseEntry]) -> Path:
    """A store that has read these cases."""
    shutil.rmtree(root / "logs", ignore_errors=True)
    append(root / "logs", cases)
    read(root / "store", root / "logs", now=datetime(2027, 6, 1, tzinfo=UTC))
    return root / "store"
