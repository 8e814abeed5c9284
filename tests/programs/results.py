"""Results of the suite's own programs, as they write them with ``--json``."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricheck.measures.curve import Variable

DATA = Path(__file__).parents[1] / "data"
SAMPLES = {
    "mpi_probe": DATA / "mpi_probe" / "latency.json",
    "rdma_batch": DATA / "rdma_batch" / "write.two.json",
    "rdma_stream": DATA / "rdma_stream" / "t6.json",
}
PHASES = ("transfer_a", "broadcast_b", "compute", "transfer_c", "total")


def named(variables: Mapping[Variable, Any]) -> dict[str, Any]:
    """What belongs to each variable, by its name."""
    return {str(variable): value for variable, value in variables.items()}


def document(program: str, benchmark: str, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A whole run of two ranks on two hosts."""
    names = [name for each in results for name, value in each.items() if not isinstance(value, str)]
    units = {"size": "B", "bytes": "B", "latency": "s", "time": "s", "bandwidth": "B/s"}
    return {
        "schema": "fabricheck-result-1",
        "program": program,
        "version": "0.1.0",
        "benchmark": benchmark,
        "options": {},
        "environment": {"ranks": 2, "hosts": ["n1", "n2"], "mpi": "Open MPI v4.1.4"},
        "units": {name: units.get(name, "1") for name in names if name != "valid"},
        "results": list(results),
        "expected": len(results),
        "validation": "passed",
        "failures": [],
        "interrupted": None,
        "complete": True,
    }


def matmul(
    *orders: int,
    variations: Sequence[float | None] = (0.25,) * 7,
    phases: Sequence[str] = PHASES,
) -> dict[str, Any]:
    """A run of ``mpi_matmul`` on four ranks."""
    found = document("mpi_matmul", "nonblocking", [
        {
            "order": order, "phase": phase, "iterations": 10, "warmup": 1,
            "time": {
                name: round((order + number + step) * 1e-6, 9)
                for name, step in (("min", 0), ("avg", 3), ("p50", 2), ("p95", 4), ("max", 5))
            },
            "variation": variation, "bytes": 800, "valid": True,
        }
        for order in orders
        for number, (phase, variation) in enumerate(zip(phases, variations, strict=False))
    ])  # fmt: skip
    found["environment"]["ranks"] = 4
    return found


def sample(program: str) -> dict[str, Any]:
    """The recorded run of a program, or a made one."""
    if program == "mpi_matmul":
        return matmul(240, 480)
    found: dict[str, Any] = json.loads(SAMPLES[program].read_text())
    return found


def changed(document: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> str:
    """The text of a document after a change."""
    change(document)
    return json.dumps(document)
