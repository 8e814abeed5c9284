"""The matrix: benchmarks down, environment by placement across, and the key figures of a cell."""

from collections.abc import Iterable
from dataclasses import dataclass

from fabricheck.measures.benchmark import Benchmark
from fabricheck.measures.metrics import row_of
from fabricheck.measures.registry import REGISTRY
from fabricheck.record.entries import Sample
from fabricheck.report.run import Case, Run
from fabricheck.report.status import Status

SMALL = 8


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """One MPI environment at one placement; the partition is told where a run has several."""

    system: str
    partition: str
    environ: str
    num_nodes: int
    transport: str
    layout: str
    placement: str

    @property
    def placement_words(self) -> str:
        """``tcp 2 nodes`` for ``tcp-2n``, with all their cores ``tcp 2 nodes full``."""
        nodes = f"{self.num_nodes} node{'s' if self.num_nodes != 1 else ''}"
        return " ".join(filter(None, (self.transport, nodes, self.layout)))


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark and the metric that its key figures show."""

    benchmark: str
    metric: str
    unit: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Cases by row and column; ``others`` are the cases of no registered benchmark."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, Column], tuple[Case, ...]]
    others: tuple[Case, ...]

    def cases(self, row: Row, column: Column) -> tuple[Case, ...]:
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


def build_matrix(run: Run) -> Matrix:
    """The matrix of a run; benchmarks stand in the registry's order."""
    cells: dict[tuple[str, Column], list[Case]] = {}
    others = []
    for case in run.cases:
        benchmark = REGISTRY.get(case.benchmark)
        if benchmark is None or not case.transport:
            others.append(case)
            continue
        where = (case.system, case.partition, case.environ)
        column = Column(*where, case.num_nodes, case.transport, case.layout, case.placement)
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


def key_figures(case: Case, metric: str) -> tuple[Sample | None, ...]:
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


def worst_status(cases: Iterable[Case]) -> Status:
    """The worst status of a cell's cases."""
    return Status.worst(case.status for case in cases)


def _row(benchmark: Benchmark) -> Row:
    metric = benchmark.metrics[0]
    return Row(benchmark.name, metric, metric.row.unit)
