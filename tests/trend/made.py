"""Series for tests."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import Series, SeriesKey

FIRST = np.datetime64("2026-01-01T03:00:00", "s")
DAY = np.timedelta64(86400, "s")

KEY: dict[str, Any] = {
    "system": "hpc",
    "partition": "rdma",
    "environ": "openmpi",
    "check": "MpiPointToPoint",
    "benchmark": "latency",
    "transport": "rc",
    "num_nodes": 2,
    "ranks": 2,
    "program": "mpi_probe",
    "metric": "latency",
    "statistic": "p50",
    "size": 8,
    "unit": "us",
}


def series(values: Any, nights: Any = None, **key: Any) -> Series:
    """A series of the values, one a night."""
    numbers = np.asarray(values, dtype=np.float64)
    places: npt.NDArray[Any] = np.arange(len(numbers)) if nights is None else np.asarray(nights)
    sessions = np.array([f"night-{place}" for place in places], dtype=np.str_)
    return Series(SeriesKey(**{**KEY, **key}), FIRST + places * DAY, numbers, sessions)


def noise(nights: int, seed: int = 1, spread: float = 0.02) -> npt.NDArray[np.float64]:
    """Values around 10."""
    return np.asarray(10 * np.exp(spread * np.random.default_rng(seed).standard_normal(nights)))


def stepped(
    nights: int = 100, at: int = 90, size: float = 0.1, seed: int = 1, spread: float = 0.02
) -> npt.NDArray[np.float64]:
    """Values whose level changes."""
    values = noise(nights, seed, spread)
    values[at:] *= 1 + size
    return values
