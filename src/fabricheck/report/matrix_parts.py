"""The matrix of the page in parts, none of them mostly empty or wider than a screen."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Final

from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.report.matrix import Column, Matrix, Row

MOST_COLUMNS: Final = 6
"""Columns that fit side by side at 1280 pixels."""

_PROGRAMS: Final = "programs"
_LAYERS: Final = ("MPI", "UCX", "verbs", _PROGRAMS)


@dataclass(frozen=True, slots=True)
class Part:
    """Benchmarks of one layer on one partition.

    Attributes:
        title: the layer, the partition where a run has several, and the number of several parts.
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
    """The parts of a matrix, by layer and partition, none wider than a screen or mostly empty."""
    found: dict[tuple[int, str, str], set[Column]] = {}
    for name, column in matrix.cells:
        where = (_LAYERS.index(_layer(name)), column.system, column.partition)
        found.setdefault(where, set()).add(column)
    made = []
    for (layer, *_), columns in sorted(found.items()):
        title = _LAYERS[layer] + _where(matrix, next(iter(columns)))
        blocks = [
            block
            for screen in _screens(columns)
            for block in _blocks(matrix, _LAYERS[layer], screen)
        ]
        for number, (rows, beside) in enumerate(blocks, 1):
            several = f", {number} of {len(blocks)}" if len(blocks) > 1 else ""
            made.append(Part(title + several, rows, beside))
    return made


def _layer(benchmark: str) -> str:
    return FAMILIES[REGISTRY[benchmark].family].layer or _PROGRAMS


def _where(matrix: Matrix, column: Column) -> str:
    if len({each.system for each in matrix.columns}) > 1:
        return f" on {column.system}:{column.partition}"
    return f" on {column.partition}" if matrix.several_partitions else ""


def _blocks(
    matrix: Matrix, layer: str, columns: tuple[Column, ...]
) -> list[tuple[tuple[Row, ...], tuple[Column, ...]]]:
    """Rows and columns of a layer in blocks of which each row and column is at least half full."""
    blocks: list[dict[Row, set[Column]]] = []
    for row in matrix.rows:
        present = {column for column in columns if matrix.cases(row, column)}
        if present and _layer(row.benchmark) == layer:
            alike = next((each for each in blocks if present in each.values()), None)
            if alike is None:
                alike = {}
                blocks.append(alike)
            alike[row] = present
    while pair := next((p for p in combinations(blocks, 2) if _dense(p[0] | p[1])), None):
        blocks[blocks.index(pair[0])] = pair[0] | pair[1]
        blocks.remove(pair[1])
    order = list(matrix.rows)
    return [
        (
            tuple(sorted(block, key=order.index)),
            tuple(column for column in columns if column in set.union(*block.values())),
        )
        for block in blocks
    ]


def _dense(block: Mapping[Row, set[Column]]) -> bool:
    """Whether each row and each column has half of its cells or more."""
    columns = Counter(column for present in block.values() for column in present)
    return all(2 * len(present) >= len(columns) for present in block.values()) and all(
        2 * number >= len(block) for number in columns.values()
    )


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
