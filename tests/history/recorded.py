"""A record for tests: nights of one small case."""

import dataclasses
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from fabricheck.history.store import History, HistoryStatus
from fabricheck.record.cache import CacheOutcome
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.record.write import append, file_of

FIRST = datetime(2026, 11, 1, 6, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SIZES = (1, 2, 4, 8)


def case(
    night: int = 0, value: float | None = 9.5, sizes: Iterable[int] = SIZES, **changes: Any
) -> CaseEntry:
    """The case of a night; the values of the sizes differ a little."""
    samples = tuple(
        Sample(
            metric="latency",
            statistic="p50",
            size=size,
            value=None if value is None else value + size / 100,
            unit="us",
            level="good",
        )
        for size in sizes
    )
    given = CaseEntry(
        time=(FIRST + timedelta(days=night)).isoformat(),
        session=f"session-{night}",
        system="testbed",
        partition="main",
        environ="openmpi",
        check="MpiPointToPoint",
        benchmark="latency",
        transport="tcp",
        num_nodes=2,
        ranks=2,
        ranks_per_node=1,
        program="mpi_probe",
        result="pass",
        level="good",
        mpi="openmpi",
        job=str(100 + night),
        samples=samples,
    )
    return dataclasses.replace(given, **changes)


def record(root: Path, *cases: CaseEntry) -> Path:
    """Append cases to a record; the file of the first."""
    append(root, cases)
    return file_of(root, cases[0])


def read(store: Path, *roots: Path, **options: Any) -> CacheOutcome:
    """Refresh a history."""
    with History.open(store) as history:
        return history.refresh(**{"perflogs": roots, "now": NOW, **options})


def table(store: Path) -> pl.DataFrame:
    """Everything in a history, in an order that does not depend on how it was read."""
    with History.open_to_read(store) as history:
        values = history.values().collect()
        return values.sort(values.columns)


def status(store: Path) -> HistoryStatus:
    with History.open_to_read(store) as history:
        return history.status()


def problems(store: Path) -> list[tuple[str, str, int]]:
    """Kind, file and line of each problem."""
    return sorted((each.kind, each.path.name, each.line) for each in status(store).problems)
