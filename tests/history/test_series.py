from typing import Any

import numpy as np
from tests.refusals import refused

from fabricheck.history.series import Series, SeriesKey
from fabricheck.measures.metrics import Direction


def key(**changes: Any) -> SeriesKey:
    values: dict[str, Any] = {
        "system": "testbed",
        "partition": "main",
        "environ": "openmpi",
        "check": "MpiPointToPoint",
        "benchmark": "latency",
        "transport": "tcp",
        "num_nodes": 2,
        "ranks": 2,
        "program": "mpi_probe",
        "metric": "latency",
        "statistic": "p50",
        "size": 8,
        "unit": "us",
    }
    return SeriesKey(**{**values, **changes})


def test_the_direction_comes_from_the_registry():
    assert key().direction is Direction.LOWER
    assert key(metric="bandwidth").direction is Direction.HIGHER
    assert key(metric="elapsed").direction is None


def test_arrays_of_different_length_are_refused():
    nights = np.array(["2026-11-20", "2026-11-21"], "datetime64[s]")
    with refused("FC0703", r"same length.*\[1, 2\]"):
        Series(key(), nights, np.array([1.0]), np.array(["a", "b"]))


def test_a_series_counts_its_sessions():
    nights = np.array(["2026-11-20", "2026-11-21"], "datetime64[s]")
    assert len(Series(key(), nights, np.array([1.0, 2.0]), np.array(["a", "b"]))) == 2
