"""The matrix: benchmarks down, environment by placement across, and the key figures of a cell.

The page has it in parts, none of them mostly empty or wider than a screen.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Final

from fabricheck.measures.benchmark import Benchmark
from fabricheck.measures.metrics import row_of
from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.record.entries import Sample
from fabricheck.report.run import ReportedCase, ReportedRun

SMALL = 8
MOST_COLUMNS: Final = 6
"""Columns that fit side by side at 1280 pixels."""

_PROGRAMS: Final = "programs"
_LAYERS: Final = ("MPI", "UCX", "verbs", _PROGRAMS)


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """One MPI environment at one placement; the partition is told where a run has several."""

    system: str
    partition: str
    environ: str
    num_nodes: int
    transport: str
    layout: str
    port: str
    placement: str

    @property
    def placement_words(self) -> str:
        """``tcp 2 nodes`` for ``tcp-2n``, with all their cores ``tcp 2 nodes full``."""
        nodes = f"{self.num_nodes} node{'s' if self.num_nodes != 1 else ''}"
        return " ".join(filter(None, (self.transport, nodes, self.layout, self.port)))


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """One benchmark and the metric that its key figures show."""

    benchmark: str
    metric: str
    unit: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Cases by row and column; ``others`` are the cases of no registered benchmark."""

    rows: tuple[BenchmarkRow, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, Column], tuple[ReportedCase, ...]]
    others: tuple[ReportedCase, ...]

    def cases(self, row: BenchmarkRow, column: Column) -> tuple[ReportedCase, ...]:
        """Cases of the cell, worst first; empty where the combination does not exist."""
        return self.cells.get((row.benchmark, column), ())

    @property
    def several_partitions(self) -> bool:
        """Whether columns must name their partition to be told apart."""
        return len({(column.system, column.partition) for column in self.columns}) > 1

    def column_words(self, column: Column) -> str:
        """Environment of the column, with its partition where a run has several."""
        prefix = f"{column.system}:{column.partition} " if self.several_partitions else ""
        return prefix + column.environ


def build_matrix(run: ReportedRun) -> Matrix:
    """The matrix of a run; benchmarks stand in the registry's order."""
    cells: dict[tuple[str, Column], list[ReportedCase]] = {}
    others = []
    for case in run.cases:
        benchmark = REGISTRY.get(case.benchmark)
        if benchmark is None or not case.transport:
            others.append(case)
            continue
        where = (case.system, case.partition, case.environ)
        how = (case.transport, case.layout, case.port, case.placement)
        column = Column(*where, case.num_nodes, *how)
        cells.setdefault((benchmark.name, column), []).append(case)
    found = {name for name, _ in cells}
    columns = sorted({column for _, column in cells})
    return Matrix(
        rows=tuple(_row(benchmark) for name, benchmark in REGISTRY.items() if name in found),
        columns=tuple(columns),
        cells={
            key: tuple(sorted(cases, key=lambda case: -case.status.severity))
            for key, cases in cells.items()
        },
        others=tuple(others),
    )


def key_figures(case: ReportedCase, metric: str) -> tuple[Sample | None, ...]:
    """The samples that stand for a case: latency p50 at 8 B and 1 MiB, bandwidth at 1 MiB.

    A benchmark without message sizes has one figure, and so has matrix multiplication, the whole
    time at its largest order. Where an asked size or statistic was not measured the figure is None:
    absent, never replaced by another size.
    """
    unsized = [s for s in case.samples if s.metric == metric and s.size is None]
    if unsized:
        best = [s for s in unsized if s.statistic == "p50"] or unsized
        return (best[0],)
    row = row_of(metric)
    largest = max((sample.size for sample in case.samples if sample.size is not None), default=None)
    return tuple(
        case.find(metric, statistic, largest if size is None else size)
        for statistic, size in (row.key_figures if row else ())
    )


def _row(benchmark: Benchmark) -> BenchmarkRow:
    metric = benchmark.metrics[0]
    return BenchmarkRow(benchmark.name, metric, metric.row.unit)


@dataclass(frozen=True, slots=True)
class Part:
    """Benchmarks of one layer on one partition.

    Attributes:
        title: the layer, the partition where a run has several, and the number of several parts.
        rows: its benchmarks.
        columns: by placement, the environments of each side by side.
    """

    title: str
    rows: tuple[BenchmarkRow, ...]
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
) -> list[tuple[tuple[BenchmarkRow, ...], tuple[Column, ...]]]:
    """Rows and columns of a layer in blocks of which each row and column is at least half full."""
    blocks: list[dict[BenchmarkRow, set[Column]]] = []
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


def _dense(block: Mapping[BenchmarkRow, set[Column]]) -> bool:
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
