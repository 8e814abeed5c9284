"""Benchmarks that a table in their folder lists: a CSV file with a row for each."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

from fabricheck.benchmarks.benchmark import RUNS, Benchmark, RanksRule
from fabricheck.benchmarks.metrics import Metric
from fabricheck.tables import rows
from fabricheck.units import parse_size

_Listed = TypeVar("_Listed", bound=Benchmark)

_READ: Final[Mapping[Any, Callable[[str], Any]]] = {
    str: str,
    str | None: lambda cell: cell or None,
    bool: lambda cell: cell == "yes",
    int: int,
    int | None: lambda cell: parse_size(cell) if cell else None,
    tuple[str, ...]: lambda cell: tuple(cell.split()),
    tuple[str, ...] | None: lambda cell: tuple(cell.split()) or None,
    tuple[Metric, ...]: lambda cell: tuple(map(Metric, cell.split())),
    frozenset[str]: lambda cell: frozenset(RUNS[RUNS.index(cell) :]),
    Metric: Metric,
    RanksRule: RanksRule,
}
"""How a cell is read, by the type of its field: a list is parted by blanks, and of the runs the
first is named."""


def listed(path: Path, kind: type[_Listed]) -> dict[str, _Listed]:
    """The benchmarks of a table, by name, in its order.

    Args:
        path: the file; lines that begin with ``#`` say why.
        kind: their class; the columns are fields of it.
    """
    hints = get_type_hints(kind)
    return {
        row["name"]: kind(**{name: _READ[hints[name]](cell) for name, cell in row.items()})
        for row in rows(path)
    }
