"""Perflogs for tests: nights of one small case."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from fabricheck.history.record import FIELDS, HEADER, Record
from fabricheck.history.refresh import Outcome, Request
from fabricheck.history.store import History, Status

FIRST = datetime(2026, 11, 1, 6, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def line(night: int = 0, size: int = 8, value: float | str = 9.5, **changes: str) -> str:
    """A line of the perflog."""
    fields = {
        "time": (FIRST + timedelta(days=night)).isoformat(),
        "level": "good",
        "result": "pass",
        "system": "testbed",
        "partition": "main",
        "environment": "openmpi",
        "check": "MpiPointToPoint",
        "benchmark": "latency",
        "transport": "tcp",
        "nodes": "2",
        "ranks": "2",
        "variable": f"latency_p50_{size}B",
        "metric": "latency",
        "statistic": "p50",
        "size": str(size),
        "value": str(value),
        "unit": "us",
        "job_id": str(100 + night),
        "session": f"session-{night}",
        "mpi": "openmpi",
    }
    return Record(**{**dict.fromkeys(FIELDS, ""), **fields, **changes}).line()


def night(number: int, value: float = 9.5, **changes: str) -> str:
    """The lines of one night."""
    return "".join(line(number, size, value + size / 100, **changes) for size in (1, 2, 4, 8))


def perflog(root: Path, text: str, name: str = "testbed/main/MpiPointToPoint.log") -> Path:
    """A perflog with a header."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + text)
    return path


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def read(store: Path, *roots: Path, **options: Any) -> Outcome:
    """Refresh a history."""
    with History.open(store) as history:
        return history.refresh(Request(**{"perflogs": roots, "now": NOW, **options}))


def table(store: Path) -> pl.DataFrame:
    """Everything in a history, in an order that does not depend on how it was read."""
    with History.open_to_read(store) as history:
        values = history.values().collect()
        return values.sort(values.columns)


def status(store: Path) -> Status:
    with History.open_to_read(store) as history:
        return history.status()


def problems(store: Path) -> list[tuple[str, str, int, int]]:
    """Kind, file, first and last line of each problem."""
    found = status(store).problems
    return sorted((each.kind, path.name, each.first, each.last) for path, each in found)


def nights(numbers: Iterable[int]) -> str:
    return "".join(night(number) for number in numbers)
