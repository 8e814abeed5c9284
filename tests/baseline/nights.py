"""Perflogs of quiet nights for tests: two MPIs, two benchmarks, some sizes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from tests.history.recorded import read

from fabricheck.history.record import FIELDS, HEADER, Record
from fabricheck.units import format_size

FIRST = datetime(2026, 9, 1, 6, tzinfo=UTC)
SIZES = (8, 1024)
MPIS = {"openmpi": "Open MPI v4.1.4, package: Debian", "mpich": "MPICH Version: 4.0.2"}
STATISTICS = {"latency": ("avg", "p50", "p99"), "bw": ("avg",)}
LEVELS = {"latency": 10.0, "bw": 900.0}

Factor = Callable[[int, dict[str, str]], float]


def unchanged(_night: int, _fields: dict[str, str]) -> float:
    return 1.0


def records(nights: int, factor: Factor = unchanged, spread: float = 0.02, **changes: str) -> str:
    """Lines of the perflog: normal noise, the same for the same arguments."""
    generator = np.random.default_rng(1)
    lines = []
    for night in range(nights):
        for mpi, version in MPIS.items():
            for benchmark, statistics in STATISTICS.items():
                for statistic in statistics:
                    for size in SIZES:
                        fields = _fields(night, mpi, benchmark, statistic, size)
                        fields |= {"mpi_version": version} | changes
                        noise = np.exp(spread * generator.standard_normal())
                        value = LEVELS[benchmark] * noise * factor(night, fields)
                        lines.append(Record(**{**fields, "value": f"{value:.6g}"}).line())
    return "".join(lines)


def _fields(night: int, mpi: str, benchmark: str, statistic: str, size: int) -> dict[str, str]:
    metric, unit = ("bandwidth", "MB/s") if benchmark == "bw" else ("latency", "us")
    return dict.fromkeys(FIELDS, "") | {
        "time": (FIRST + timedelta(days=night)).isoformat(),
        "level": "good",
        "result": "pass",
        "system": "hpc",
        "partition": "cpu",
        "environment": mpi,
        "check": "MpiPointToPoint",
        "benchmark": benchmark,
        "transport": "rc",
        "nodes": "2",
        "ranks": "2",
        "variable": f"{metric}_{statistic}_{format_size(size)}",
        "metric": metric,
        "statistic": statistic,
        "size": str(size),
        "unit": unit,
        "mpi": mpi,
        "ucx_version": "1.13.1",
        "program": "mpi_probe",
        "program_version": "0.1.0",
        "job_id": f"{night}-{mpi}-{benchmark}",
        "commit": "b59301a",
        "session": f"session-{night}",
    }


def history(root: Path, text: str) -> Path:
    """A store that has read these lines."""
    logs = root / "logs" / "hpc" / "cpu"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "MpiPointToPoint.log").write_text(HEADER + text)
    read(root / "store", root / "logs", now=datetime(2027, 6, 1, tzinfo=UTC))
    return root / "store"
