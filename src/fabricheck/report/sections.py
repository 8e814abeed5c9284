"""What the parts of the page show, ready for the template: words and figures, no decisions left."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricheck.measures.metrics import row_of, size_label
from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.record.entries import Sample
from fabricheck.report import charts
from fabricheck.report.curves import Group, anchor, measured, series
from fabricheck.report.matrix import Matrix, Row, key_figures, worst_status
from fabricheck.report.matrix_parts import Part
from fabricheck.report.run import Case, Run
from fabricheck.report.sparklines import Sparkline
from fabricheck.report.status import Status
from fabricheck.report.summary import Summary
from fabricheck.units import TABLE_UNITS, in_table, with_unit


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the matrix: status, key figures in words, where its link leads, and its nights."""

    status: Status
    figures: tuple[str, ...]
    href: str
    count: int
    sparkline: Sparkline | None = None


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A row of the matrix; a cell is None where there is no such case, ``href`` empty likewise."""

    row: Row
    href: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class TableCell:
    """A figure of a table of values, with its level where that is not good."""

    text: str
    level: str


@dataclass(frozen=True, slots=True)
class Values:
    """The table of a group's metric: below each other the environments, each by message size."""

    caption: str
    heads: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[str, tuple[TableCell, ...]], ...]], ...]


@dataclass(frozen=True, slots=True)
class MetricView:
    """A chart (``chart`` is its element, None where there is nothing to draw) and its table."""

    metric: str
    chart: str | None
    alternative: str
    beyond: bool
    values: Values


@dataclass(frozen=True, slots=True)
class GroupView:
    """A benchmark at a placement: its cases and their curves."""

    group: Group
    metrics: tuple[MetricView, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkView:
    """A benchmark with all its placements."""

    name: str
    anchor: str
    description: str
    groups: tuple[GroupView, ...]


def problem_anchors(summary: Summary) -> dict[int, str]:
    """Where the page tells what is wrong with a case, by the identity of the case."""
    return {
        id(case): f"problem-{number}"
        for number, problem in enumerate(summary.problems, 1)
        for case in problem.cases
    }


def matrix_rows(
    matrix: Matrix, part: Part, summary: Summary, sparklines: Mapping[int, Sparkline]
) -> list[MatrixRow]:
    """A part of the matrix with its links: to the curve where there is one, else to what is wrong.

    ``sparklines`` are the nights of cases, by the identity of the case.
    """
    problems = problem_anchors(summary)
    rows = []
    for row in part.rows:
        cells: list[Cell | None] = []
        for column in part.columns:
            cases = matrix.cases(row, column)
            if not cases:
                cells.append(None)
                continue
            curve = anchor(row.benchmark, column, matrix)
            href = curve if measured(cases[:1]) else problems.get(id(cases[0]), "not-measured")
            figures, sparkline = _figures(cases[0], row), sparklines.get(id(cases[0]))
            cells.append(Cell(worst_status(cases), figures, href, len(cases), sparkline))
        drawn = any(measured(c) for (name, _), c in matrix.cells.items() if name == row.benchmark)
        rows.append(MatrixRow(row, f"benchmark-{row.benchmark}" if drawn else "", tuple(cells)))
    return rows


def _figures(case: Case, row: Row) -> tuple[str, ...]:
    """The key figures that were measured; in place of a missing one that of the largest size."""
    samples = key_figures(case, row.metric)
    found = [figure(sample) for sample in samples if sample and sample.value is not None]
    if len(found) < len(samples) and (key := row_of(row.metric)) and key.key_figures:
        statistic = key.key_figures[-1][0]
        by_size = {
            each.size: each
            for each in case.samples
            if (each.metric, each.statistic) == (row.metric, statistic)
            and each.size
            and each.value is not None
        }
        if by_size and (largest := by_size[max(by_size)]) not in samples:
            found.append(f"{figure(largest)} at {size_label(max(by_size), row.metric)}")
    return tuple(found)


def figure(sample: Sample | None) -> str:
    """The value of a sample with its unit."""
    if sample is None or sample.value is None:
        return "no figure"
    return with_unit(sample.value, sample.unit)


def benchmark_views(groups: Sequence[Group]) -> list[BenchmarkView]:
    """The benchmarks in their order, each with its groups."""
    names = dict.fromkeys(group.benchmark for group in groups)
    return [
        BenchmarkView(
            name=name,
            anchor=f"benchmark-{name}",
            description=_description(name),
            groups=tuple(_group(group) for group in groups if group.benchmark == name),
        )
        for name in names
    ]


def _description(name: str) -> str:
    benchmark = REGISTRY[name]
    metrics = " and ".join(
        f"{metric.replace('_', ' ')} ({metric.row.direction} is better)"
        for metric in benchmark.metrics
    )
    return f"{benchmark.title}, {FAMILIES[benchmark.family].title}: {metrics}"


def chart_name(group: Group, metric: str) -> str:
    """Name of the element into which the chart is drawn."""
    return f"{group.anchor}-{metric}-chart"


def _group(group: Group) -> GroupView:
    return GroupView(group, tuple(_metric(group, metric) for metric in group.metrics))


def _metric(group: Group, metric: str) -> MetricView:
    drawn = bool(series(group, metric))
    return MetricView(
        metric=metric.replace("_", " "),
        chart=chart_name(group, metric) if drawn else None,
        alternative=_alternative(group, metric),
        beyond=charts.beyond(group, metric),
        values=_values(group, metric),
    )


def _alternative(group: Group, metric: str) -> str:
    """The chart in words."""
    ends = []
    for case in group.cases:
        samples = [s for s in case.samples if s.metric == metric and s.size and s.value]
        if samples:
            first = min(samples, key=lambda s: s.size or 0)
            last = next(
                s
                for s in sorted(samples, key=lambda s: -(s.size or 0))
                if s.statistic == first.statistic
            )
            ends.append(
                f"{case.environ} {first.statistic} from {figure(first)} at "
                f"{size_label(first.size or 0, metric)} to {figure(last)} at "
                f"{size_label(last.size or 0, metric)}"
            )
    words = metric.replace("_", " ")
    return f"{words} of {group.benchmark}, {group.placement_words}: {'; '.join(ends)}"


def _values(group: Group, metric: str) -> Values:
    statistics = group.statistics(metric)
    unit = group.unit(metric)
    return Values(
        caption=f"{group.benchmark}, {group.placement_words}: {metric.replace('_', ' ')} "
        f"in {TABLE_UNITS.get(unit, unit)}",
        heads=(*statistics, f"bounds of {statistics[0]}"),
        groups=tuple(
            (case.environ, rows)
            for case in group.cases
            if (rows := tuple(_rows(case, metric, statistics, group.sizes(metric))))
        ),
    )


def _rows(
    case: Case, metric: str, statistics: Sequence[str], sizes: Iterable[int | None]
) -> Iterator[tuple[str, tuple[TableCell, ...]]]:
    """The rows of a case: each size that it has, with its statistics and bounds."""
    samples = {(s.statistic, s.size): s for s in case.samples if s.metric == metric}
    for size in sizes:
        found = [samples.get((name, size)) for name in statistics]
        if any(found):
            label = "no payload" if size is None else size_label(size, metric)
            bounds = charts.bounds_words(found[0]) if found[0] else "·"
            yield label, (*map(_table_cell, found), TableCell(bounds, ""))


def _table_cell(sample: Sample | None) -> TableCell:
    if sample is None:
        return TableCell("·", "")
    level = sample.level or "no level"
    text = "no figure" if sample.value is None else in_table(sample.value, sample.unit)
    return TableCell(text, "" if level == Status.GOOD else level)


def not_measured(run: Run) -> list[Case]:
    """Cases and builds that gave no measurement, worst first."""
    missing = [case for case in (*run.failed_builds, *run.cases) if not case.status.measured]
    return sorted(missing, key=lambda case: -case.status.severity)


def provenance(run: Run) -> list[tuple[str, list[str]]]:
    """What the figures come from: name and values, each value once."""
    cases = run.cases
    nodes = sorted({node for case in cases for node in case.nodes})
    times = f"{run.started} to {run.ended}"
    if isinstance(elapsed := run.info.get("time_elapsed"), int | float):
        times += f" ({elapsed:.0f} s)"
    programs = [f"{case.program} {case.program_version}" for case in cases if case.program]
    return [
        ("System", list(run.systems)),
        ("MPI", _unique(_mpi(case) for case in cases if case.mpi)),
        ("UCX", _unique(f"{c.environ}: {c.ucx_version}" for c in cases if c.ucx_version)),
        ("Benchmark programs", _unique(programs)),
        ("References", _unique(_reference(case) for case in cases if case.reference_kind)),
        ("Commit of the suite", list(run.commits)),
        ("Nodes", nodes),
        ("Started on", [f"{run.told('hostname')} by {run.told('user')}"]),
        ("Time", [times]),
        ("ReFrame", [run.told("version")]),
        ("Command line", [run.told("cmdline")]),
        ("Session", [run.session]),
        ("Record", [str(run.path)]),
    ]


def _mpi(case: Case) -> str:
    return f"{case.environ}: {case.mpi}, {case.mpi_version or 'version unknown'}"


def _reference(case: Case) -> str:
    return f"{case.reference_kind}: {case.reference_source or 'no source named'}"


def _unique(values: Iterable[str]) -> list[str]:
    return sorted(set(values))
