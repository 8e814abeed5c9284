"""The report on a terminal: the verdict, what is wrong, and the matrix."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fabricheck.nodes.names import fold
from fabricheck.record.entries import Sample
from fabricheck.report.cards import CardTable, worst_tables
from fabricheck.report.headline import headline
from fabricheck.report.matrix import BenchmarkRow, Column, Matrix, build_matrix, key_figures
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import Problem, Summary, counted, ran_again, reference_legend
from fabricheck.units import TABLE_UNITS, in_cell, with_unit

TEXT_LINES = 20
"""Most lines of text before the matrix."""

_STYLES = {"red": "bold red", "magenta": "bold magenta", "grey": "dim"}
_NAME_WIDTH = 14
_UNIT_WIDTH = 4
_CELL_WIDTH = 12
_PROBLEM_LINES = 2


def show(run: ReportedRun, summary: Summary, console: Console, *, table: bool) -> None:
    """Print the report; ``table`` asks for the matrix below the text."""
    told = [Text(line, "bold") for line in summary.shared]
    for line in (*_verdict(run, summary, console), *told, *_problem_lines(run, summary, console)):
        console.print(line, soft_wrap=True)
    if table:
        _show_matrix(run, summary.cards, console)


def _symbol(status: Status, console: Console) -> str:
    return status.ascii_symbol if console.options.ascii_only else status.symbol


def _style(status: Status) -> str:
    return _STYLES.get(status.color, status.color)


def _verdict(run: ReportedRun, summary: Summary, console: Console) -> list[Text]:
    """The verdict with system, time and commit, then the counts on as many lines as they need."""
    verdict = summary.verdict
    head = Text.assemble(
        (f" {_symbol(verdict, console)} {verdict.upper()} ", _style(verdict) + " reverse"),
        f"  {', '.join(run.systems) or 'unknown system'}, {run.began}, ",
        f"commit {', '.join(run.commits) or 'unknown'}",
    )
    counts = [
        Text(f"{number} {status}", _style(status) if number else "dim")
        for status, number in summary.counts.items()
    ]
    warned = [*_lacking(run, console), *([ran_again(run)] if run.ran_again else [])]
    resting = f", {len(run.not_due)} more not due tonight" if run.not_due else ""
    lines = [head, *(Text(line, "yellow") for line in warned)]
    lines.append(Text(f"{counted(sum(summary.counts.values()))}{resting}: "))
    for number, count in enumerate(counts):
        text = count + Text("," if number < len(counts) - 1 else "")
        if lines[-1].cell_len + text.cell_len > console.width:
            lines.append(Text("  "))
        lines[-1].append_text(text).append(" ")
    first = headline(run, summary)
    return [*lines, *map(Text, (first.fabric, first.run, first.next, run.which))]


def _lacking(run: ReportedRun, console: Console) -> list[str]:
    return textwrap.wrap(f"NOT MEASURED: {run.lacking}", console.width) if run.lacking else []


def _problem_lines(run: ReportedRun, summary: Summary, console: Console) -> list[Text]:
    """One entry for each problem, as many as the line budget holds, and how many were left out."""
    above = [*_lacking(run, console), *summary.shared]
    budget = TEXT_LINES - 8 - bool(run.ran_again) - len(above)
    lines: list[Text] = []
    for number, problem in enumerate(summary.problems):
        entry = _problem(problem, console)
        left = len(summary.problems) - number
        if len(lines) + len(entry) + (left > 1) > budget:
            lines.append(Text(f"... and {left} more (all of them on the page and in --json)"))
            break
        lines.extend(entry)
    return lines


def _problem(problem: Problem, console: Console) -> list[Text]:
    text = Text.assemble(
        (f"{_symbol(problem.status, console)} {problem.status}", _style(problem.status)),
        (f" {problem.subject}", "bold"),
    )
    if problem.nodes:
        text.append(f" on {fold(problem.nodes)}", "cyan")
    if problem.layer:
        text.append(f" ({problem.layer})", "bold")
    text.append(f": {problem.causes[0]}")
    if len(problem.causes) > 1:
        text.append(f" (+{len(problem.causes) - 1} more)", "dim")
    if not console.is_terminal:
        return [text]
    wrapped = text.wrap(console, console.width - 4)
    lines = list(wrapped[:_PROBLEM_LINES])
    if len(wrapped) > _PROBLEM_LINES:
        lines[-1].truncate(console.width - 6)
        lines[-1].append(" ..." if console.options.ascii_only else " …")
    return [lines[0], *(Text("    ").append_text(line) for line in lines[1:])]


def _show_matrix(run: ReportedRun, cards: Sequence[CardTable], console: Console) -> None:
    matrix = build_matrix(run)
    if matrix.rows:
        layout = _Layout.of(matrix, console)
        for columns in _column_groups(matrix, layout.fitting):
            console.print()
            console.print(_head(matrix, columns, layout))
            console.print(_table(matrix, columns, layout, console))
    tables, more = worst_tables(cards)
    for each in tables:
        worst = ((port, each.worst(port)) for port in each.ports)
        cells = (f"{port} {cell.words} ({cell.status})" for port, cell in worst)
        console.print(
            f"\ncards of {fold(each.nodes)} beside their peers: {'; '.join(cells)}", soft_wrap=True
        )
    if more:
        console.print(f"\n{more}", soft_wrap=True)
    for case in matrix.others:
        console.print(_other(case, console))
    console.print()
    for line in _legend(run, console):
        console.print(Text(line, "dim"))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Widths of a matrix's parts, and how many of its columns fit beside each other."""

    names: int
    cell: int
    fitting: int

    @classmethod
    def of(cls, matrix: Matrix, console: Console) -> "_Layout":
        names = max(_NAME_WIDTH, *(len(row.benchmark) for row in matrix.rows))
        cell = max(
            _CELL_WIDTH,
            *(len(column.placement_words) for column in matrix.columns),
            *(
                _cell(matrix.cases(row, column), row, console).cell_len
                for row in matrix.rows
                for column in matrix.columns
            ),
        )
        return cls(names, cell, max(1, (console.width - names - _UNIT_WIDTH - 2) // (cell + 1)))


def _column_groups(matrix: Matrix, fitting: int) -> list[list[Column]]:
    """Columns in groups that fit beside the row names, split between environments if possible."""
    environments: dict[str, list[Column]] = {}
    for column in matrix.columns:
        environments.setdefault(matrix.column_words(column), []).append(column)
    groups: list[list[Column]] = [[]]
    for columns in environments.values():
        for start in range(0, len(columns), fitting):
            part = columns[start : start + fitting]
            if len(groups[-1]) + len(part) > fitting:
                groups.append([])
            groups[-1].extend(part)
    return [group for group in groups if group]


def _head(matrix: Matrix, columns: Sequence[Column], layout: _Layout) -> Table:
    """The environments, each above its columns."""
    head = Table.grid(padding=(0, 1, 0, 0))
    head.add_column(width=layout.names + _UNIT_WIDTH + 1)
    spans = Counter(matrix.column_words(column) for column in columns)
    for span in spans.values():
        head.add_column(width=span * (layout.cell + 1) - 1, overflow="fold", style="bold")
    head.add_row("", *spans)
    return head


def _table(matrix: Matrix, columns: Sequence[Column], layout: _Layout, console: Console) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("benchmark", width=layout.names, no_wrap=True)
    table.add_column("unit", style="dim", width=_UNIT_WIDTH, no_wrap=True)
    for column in columns:
        table.add_column(column.placement_words, width=layout.cell, no_wrap=True)
    for row in matrix.rows:
        unit = TABLE_UNITS.get(row.unit, row.unit)
        if console.options.ascii_only:
            unit = unit.replace("µ", "u")
        found = [matrix.cases(row, column) for column in columns]
        if any(found):
            cells = (_cell(cases, row, console) for cases in found)
            table.add_row(row.benchmark, unit, *cells)
    return table


def _cell(cases: Sequence[ReportedCase], row: BenchmarkRow, console: Console) -> Text:
    if not cases:
        return Text("." if console.options.ascii_only else "·", "dim")
    status = cases[0].status
    samples = key_figures(cases[0], row.metric)
    widths = (4, 5) if len(samples) > 1 else (5,) * len(samples)
    figures = " ".join(
        f"{_figure(sample):>{width}}" for sample, width in zip(samples, widths, strict=True)
    )
    if all(sample is None or sample.value is None for sample in samples):
        figures = str(status)
    text = f"{_symbol(status, console)} {figures}"
    return Text(f"{text} x{len(cases)}" if len(cases) > 1 else text, _style(status))


def _figure(sample: Sample | None) -> str:
    if sample is None or sample.value is None:
        return "-"
    return in_cell(sample.value, sample.unit)


def _other(case: ReportedCase, console: Console) -> Text:
    text = Text(f"{_symbol(case.status, console)} {case.title}: ", _style(case.status))
    figures = [
        f"{sample.variable} {with_unit(sample.value, sample.unit)}"
        for sample in case.samples[:4]
        if sample.value is not None
    ]
    text.append(", ".join(figures) or str(case.status), "default")
    return text


def _legend(run: ReportedRun, console: Console) -> list[str]:
    present = sorted({case.status for case in run.cases}, key=lambda status: status.severity)
    symbols = ", ".join(f"{_symbol(status, console)} {status}" for status in present)
    absent = "." if console.options.ascii_only else "·"
    return [
        *([symbols] if symbols else []),
        f"{absent} no such case; latency: p50 at 8 B, at 1 MiB (without sizes: one); bandwidth: at "
        "1 MiB; matrix multiplication: all of it, at the largest order",
        *reference_legend(run),
    ]
