"""The matrix of the page in parts, each with few gaps and no wider than a screen."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from fabricheck.benchmarks.registry import FAMILIES, REGISTRY
from fabricheck.report.matrix import Column, Matrix, Row

MOST_COLUMNS: Final = 6
"""Columns that fit side by side at 1280 pixels."""

_PROGRAMS: Final = "programs"
_LAYERS: Final = ("MPI", "UCX", "verbs", _PROGRAMS)


@dataclass(frozen=True, slots=True)
class Part:
    """Benchmarks of one layer on one partition.

    Attributes:
        title: the layer, and the partition where a run has several.
        rows: its benchmarks.
        columns: by placement, the environments of each side by side.
    """

    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]

    @property
    def heads(self) -> tuple[tuple[str, int], ...]:
        """Words of each placement and how many columns it has, from left to right."""
        return tuple(Counter(column.placement_words for column in self.columns).items())


def parts(matrix: Matrix) -> list[Part]:
    """The parts of a matrix, by layer and partition; a wide one goes on in the next."""
    found: dict[tuple[int, str, str], set[Column]] = {}
    for name, column in matrix.cells:
        where = (_LAYERS.index(_layer(name)), column.system, column.partition)
        found.setdefault(where, set()).add(column)
    return [
        _part(matrix, _LAYERS[layer], columns)
        for (layer, *_), all_of_them in sorted(found.items())
        for columns in _screens(all_of_them)
    ]


def _layer(benchmark: str) -> str:
    return FAMILIES[REGISTRY[benchmark].family].layer or _PROGRAMS


def _part(matrix: Matrix, layer: str, columns: tuple[Column, ...]) -> Part:
    rows = tuple(
        row
        for row in matrix.rows
        if _layer(row.benchmark) == layer and any(matrix.cases(row, column) for column in columns)
    )
    where = f" on {columns[0].partition}" if matrix.several_partitions else ""
    if len({column.system for column in matrix.columns}) > 1:
        where = f" on {columns[0].system}:{columns[0].partition}"
    return Part(layer + where, rows, columns)


def _screens(columns: Iterable[Column]) -> list[tuple[Column, ...]]:
    """Columns by placement, in groups that fit a screen; a placement stays whole if it can."""
    ordered = sorted(columns, key=lambda each: (each.num_nodes, each.placement, each.environ))
    screens: list[tuple[Column, ...]] = [()]
    for _, found in groupby(ordered, key=lambda each: each.placement):
        for placement in _pieces(tuple(found)):
            if screens[-1] and len(screens[-1]) + len(placement) > MOST_COLUMNS:
                screens.append(())
            screens[-1] += placement
    return screens


def _pieces(columns: tuple[Column, ...]) -> Iterable[tuple[Column, ...]]:
    """Columns in pieces of a screen."""
    return (columns[n : n + MOST_COLUMNS] for n in range(0, len(columns), MOST_COLUMNS))
