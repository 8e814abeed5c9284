"""What the parts of the page show, ready for the template: words and figures, no decisions left."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

from fabricheck.judge.levels import Level
from fabricheck.measures.metrics import row_of, size_label
from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.nodes.names import fold
from fabricheck.provenance import SUITE
from fabricheck.record.entries import Sample
from fabricheck.report import charts
from fabricheck.report.curves import Group, anchor, measured, series
from fabricheck.report.matrix import BenchmarkRow, Matrix, Part, key_figures
from fabricheck.report.past import Sparkline
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import Problem, Summary
from fabricheck.units import TABLE_UNITS, in_table, with_unit

ALL_SIZES: Final = 12
"""Sizes of a good case that its table has one and all; of more it has every second."""
_CODE: Final = re.compile(r"\bFC\d{4}\b")
_CODES: Final = "docs/reference/errors.md"
_KNOWN: Final = re.compile(r"known failure(?:: | \()(.+?)(?:\): remove the mark|;|$)")


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

    row: BenchmarkRow
    href: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class MetricView:
    """A metric of a group: its chart, in words too, and the table of its values.

    Attributes:
        metric: its name in words.
        chart: the element of the chart, None where there is nothing to draw.
        alternative: the chart in words.
        beyond: whether a bound lies outside of it.
        caption: what the table has.
        heads: the heads of its columns.
        environs: below each other the environments, with a word where not all sizes are shown.
    """

    metric: str
    chart: str | None
    alternative: str
    beyond: bool
    caption: str
    heads: tuple[str, ...]
    environs: Sequence[tuple[str, Sequence["ValueRow"]]]


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A row of a table of values.

    Attributes:
        size: the message size in words.
        cells: figures with their level where that is not good.
        bounds: what they were judged by.
        span: how many rows from this one have these bounds; 0 where a row above says it.
    """

    size: str
    cells: Sequence[tuple[str, str]]
    bounds: str
    span: int


def matrix_rows(
    matrix: Matrix, part: Part, summary: Summary, sparklines: Mapping[int, Sparkline]
) -> list[MatrixRow]:
    """A part of the matrix with its links: to the curve where there is one, else to what is wrong.

    ``sparklines`` are the nights of cases, by the identity of the case.
    """
    problems = {
        id(case): f"problem-{number}"
        for number, problem in enumerate(summary.problems, 1)
        for case in problem.cases
    }

    def cell(row: BenchmarkRow, cases: Sequence[ReportedCase], curve: str) -> Cell:
        worst = cases[0]
        href = curve if measured([worst]) else problems.get(id(worst), "not-measured")
        figures = _figures(worst, row)
        return Cell(worst.status, figures, href, len(cases), sparklines.get(id(worst)))

    drawn = {name for (name, _), cases in matrix.cells.items() if measured(cases)}
    return [
        MatrixRow(
            row,
            f"benchmark-{row.benchmark}" if row.benchmark in drawn else "",
            tuple(
                cell(row, cases, anchor(row.benchmark, column, matrix)) if cases else None
                for column in part.columns
                for cases in [matrix.cases(row, column)]
            ),
        )
        for row in part.rows
    ]


def _figures(case: ReportedCase, row: BenchmarkRow) -> tuple[str, ...]:
    """The key figures that were measured; in place of a missing one that of the largest size."""
    samples = key_figures(case, row.metric)
    found = [
        # Another suite's one figure of all sizes may be their least or largest.
        f"{figure(sample)} {sample.statistic}"
        if sample.statistic in ("min", "max")
        else figure(sample)
        for sample in samples
        if sample and sample.value is not None
    ]
    if len(found) < len(samples) and (key := row_of(row.metric)) and key.key_figures:
        wanted = (row.metric, key.key_figures[-1][0])
        sized = [s for s in case.samples if (s.metric, s.statistic) == wanted and s.size]
        valued = [s for s in sized if s.value is not None]
        largest = max(valued, key=lambda s: s.size or 0, default=None)
        if largest and largest not in samples:
            found.append(f"{figure(largest)} at {size_label(largest.size or 0, row.metric)}")
    return tuple(found)


def figure(sample: Sample | None) -> str:
    """The value of a sample with its unit."""
    if sample is None or sample.value is None:
        return "no figure"
    return with_unit(sample.value, sample.unit)


def description(name: str) -> str:
    """A benchmark in a line."""
    benchmark = REGISTRY[name]
    metrics = " and ".join(
        f"{metric.replace('_', ' ')} ({metric.row.direction} is better)"
        for metric in benchmark.metrics
    )
    return f"{benchmark.title}, {FAMILIES[benchmark.family].title}: {metrics}"


def chart_name(group: Group, metric: str) -> str:
    """Name of the element into which the chart is drawn."""
    return f"{group.anchor}-{metric}-chart"


def metric_views(group: Group) -> list[MetricView]:
    """The metrics of a benchmark at a placement."""
    return [_metric(group, metric) for metric in group.metrics]


def _metric(group: Group, metric: str) -> MetricView:
    statistics = group.statistics(metric)
    unit = group.unit(metric)
    words = metric.replace("_", " ")
    sizes = group.sizes(metric)
    tables = (_table(group.name(case), case, metric, statistics, sizes) for case in group.cases)
    return MetricView(
        metric=words,
        chart=chart_name(group, metric) if series(group, metric) else None,
        alternative=f"{words}: {'; '.join(_ends(group, metric))}",
        beyond=charts.beyond(group, metric),
        caption=f"{group.benchmark}, {group.placement_words}: {words} "
        f"in {TABLE_UNITS.get(unit, unit)}",
        heads=(*statistics, f"bounds of {statistics[0]}"),
        environs=[(environ, rows) for environ, rows in tables if rows],
    )


def _ends(group: Group, metric: str) -> Iterator[str]:
    """Where the curve of each case begins and ends."""
    for case in group.cases:
        samples = [s for s in case.samples if s.metric == metric and s.size and s.value]
        if samples:
            first = min(samples, key=lambda s: s.size or 0)
            alike = (s for s in samples if s.statistic == first.statistic)
            ends = (first, max(alike, key=lambda s: s.size or 0))
            words = " to ".join(f"{figure(s)} at {size_label(s.size or 0, metric)}" for s in ends)
            yield f"{case.environ} {first.statistic} from {words}"


def _table(
    name: str,
    case: ReportedCase,
    metric: str,
    statistics: Sequence[str],
    sizes: Iterable[int | None],
) -> tuple[str, list[ValueRow]]:
    """A case's name, and its sizes with statistics and bounds; of many good ones every second, and
    the last.
    """
    samples = {(s.statistic, s.size): s for s in case.samples if s.metric == metric}
    measured = [size for size in sizes if any((name, size) in samples for name in statistics)]
    is_long = case.status is Status.GOOD and len(measured) > ALL_SIZES
    shown = [*measured[:-1:2], measured[-1]] if is_long else measured
    first = [samples.get((statistics[0], size)) for size in shown]
    bounds = [charts.bounds_words(sample) if sample else "·" for sample in first]
    spans = (len(list(alike)) for _, alike in groupby(bounds))
    rows = [
        ValueRow(
            "no size" if size is None else size_label(size, metric),
            [_table_cell(samples.get((name, size)), case.status) for name in statistics],
            words,
            span,
        )
        for size, words, span in zip(
            shown, bounds, (n for each in spans for n in (each, *[0] * (each - 1))), strict=True
        )
    ]
    told = f": every second of its {len(measured)} sizes, and the last" if is_long else ""
    return name + told, rows


def _table_cell(sample: Sample | None, status: Status) -> tuple[str, str]:
    """A figure of a table of values, with its level where that is not good."""
    if sample is None:
        return "·", ""
    level = sample.level or ("" if status is Status.UNJUDGED else "no level")
    text = "no figure" if sample.value is None else in_table(sample.value, sample.unit)
    return text, "" if level == Status.GOOD else level


def links(case: ReportedCase) -> list[tuple[str, str]]:
    """Files beside what is known of a case, each with its address: its log, the page of its code.

    They lead to this machine's disk: on another one only the words are of use.
    """
    found = [(case.output, case.output)] if case.output.startswith("/") else []
    codes = sorted({code for cause in case.causes for code in _CODE.findall(cause)})
    # An installed package has no documents.
    if (SUITE / _CODES).is_file():
        found += [(code, f"{SUITE / _CODES}#{code.lower()}") for code in codes]
    return [(words, f"file://{quote(path, safe='/#')}") for words, path in found]


def known_failure(problem: Problem) -> str:
    """Why it is known not to be met, with the owner or ticket that the reference names."""
    reasons = (_KNOWN.findall(cause) for case in problem.cases for cause in case.causes)
    return "; ".join(sorted({reason for found in reasons for reason in found}))


def node_status(level: Any) -> Status:
    """What a level of a node's prerequisite is called; None where it does not apply."""
    if level is None:
        return Status.SKIPPED
    return Status(level) if level in list(Level) else Status.UNJUDGED


def not_measured(run: ReportedRun) -> list[ReportedCase]:
    """Cases and builds that gave no measurement, worst first."""
    missing = [case for case in (*run.failed_builds, *run.cases) if not case.status.measured]
    return sorted(missing, key=lambda case: -case.status.severity)


def provenance(run: ReportedRun) -> list[tuple[str, Iterable[str]]]:
    """What the figures come from: name and values, each value once."""
    cases = run.cases
    times = f"{run.started} to {run.ended}"
    if isinstance(elapsed := run.info.get("time_elapsed"), int | float):
        times += f" ({elapsed:.0f} s)"
    found = {
        "MPI": [
            f"{c.environ}: {c.mpi}, {c.mpi_version or 'version unknown'}" for c in cases if c.mpi
        ],
        "UCX": [f"{c.environ}: {c.ucx_version}" for c in cases if c.ucx_version],
        "Benchmark programs": [f"{c.program} {c.program_version}" for c in cases if c.program],
        "References": [
            f"{c.reference_kind}: {c.reference_source or 'no source named'}"
            for c in cases
            if c.reference_kind
        ],
        "Commit of the suite": run.commits,
        "Nodes": [fold({node for case in cases for node in case.nodes}) or "none known"],
    }
    return [
        ("System", run.systems),
        *((name, sorted(set(values))) for name, values in found.items()),
        ("Started on", [f"{run.told('hostname')} by {run.told('user')}"]),
        ("Time", [times]),
        ("ReFrame", [run.told("version")]),
        ("Command line", [run.told("cmdline")]),
        ("Session", [run.session]),
        ("Record", [str(run.path)]),
    ]
