"""``fabricheck report``: the verdict on a run, on the terminal, as a page, or for machines."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabricheck.cli.console import open_console
from fabricheck.cli.options import (
    REFERENCES,
    SITES,
    Asked,
    JsonOption,
    ReferencesOption,
    SitesOption,
    gathered,
)
from fabricheck.cli.output import picked, write_json
from fabricheck.errors import FabricheckError
from fabricheck.report import terminal
from fabricheck.report.headline import headline
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.summary import Summary, reference_legend, summarise

if TYPE_CHECKING:
    from fabricheck.report.history_view import HistoryView

HISTORY = Path("reports/history")
"""Where the history is kept."""


@dataclass(frozen=True, slots=True)
class Compared:
    """With what a page compares its run: its history, and what sites and operators say of it."""

    history: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="History for the page; fabricheck history refresh brings it up to date.",
            show_default="reports/history, if there is one",
        ),
    ] = None
    sites: SitesOption = field(default_factory=lambda: SITES)
    references: ReferencesOption = field(default_factory=lambda: REFERENCES)


@gathered
def report(
    *,
    asked: Asked,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the offline HTML page.")
    ] = None,
    compared: Compared,
    plots: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write phases of matrix multiplications as SVG and PNG."),
    ] = None,
    machine: JsonOption = False,
    table: Annotated[
        bool, typer.Option("--table/--no-table", help="Show the matrix below the text.")
    ] = True,
) -> None:
    """Show what the last night found: verdict, problems, matrix, and one offline page.

    Where no night was ever run, it is the last run. What measured since is named.

    Exit code 1: something is critical, untrusted, without reference, failed, aborted or missing, or
    nothing was judged. 0: otherwise. 2: the input cannot be read or the page not written.

    Examples:

        fabricheck report

        fabricheck report --session 20261121T054159Z-login1-4711 --html fabric.html

        fabricheck history refresh && fabricheck report --html fabric.html --history reports/history

        fabricheck report --json | jq .counts

        fabricheck report --plots phases
    """
    run = asked.run()
    compared = replace(compared, history=compared.history or there(HISTORY))
    if plots is not None:
        _write_plots(run, plots)
    raise typer.Exit(show(run, html=html, table=table, machine=machine, compared=compared))


def there(history: Path) -> Path | None:
    """The history, if there is one."""
    return history if history.is_dir() else None


def show(
    run: ReportedRun,
    *,
    html: Path | None = None,
    table: bool = True,
    machine: bool = False,
    compared: Compared = Compared(),
) -> int:
    """Show a run, write its page if one is asked for; the exit code.

    Raises:
        FabricheckError: if the history cannot be read, or the page not written.
    """
    summary = summarise(run)
    past, unread = _write_page(run, summary, html, compared) if html else (None, None)
    if machine:
        slow = sum(len(each.lemons) for each in past.nodes) if past else 0
        changes = {"regressions": past.trend.regressions, "slow": slow} if past else None
        write_json({**as_json(run, summary), "history": changes})
    else:
        console = open_console()
        terminal.show(run, summary, console, table=table)
        console.print(f"record  {run.path}", soft_wrap=True)
        if html is not None:
            console.print(f"page    {html.resolve()}", soft_wrap=True)
    if unread is not None:
        raise unread
    return summary.exit_code


def _write_page(
    run: ReportedRun, summary: Summary, html: Path, compared: Compared
) -> tuple["HistoryView | None", FabricheckError | None]:
    """Write it, without the history if that can't be read; the history, or why it can't be."""
    # Bokeh, Jinja and the detectors take a while to import: only the page pays for them.
    from fabricheck.report.history_view import read_history_view
    from fabricheck.report.page import write_page

    past, unread = None, None
    if compared.history:
        try:
            past = read_history_view(compared.history, run, compared.sites, compared.references)
        except FabricheckError as error:
            unread = error
    write_page(run, summary, html, past, str(unread or ""))
    return past, unread


def _write_plots(run: ReportedRun, directory: Path) -> None:
    # Matplotlib too takes a while to import.
    from fabricheck.report.phases import phase_figures, write_phases

    write_phases(phase_figures(run), directory)


def as_json(run: ReportedRun, summary: Summary) -> dict[str, Any]:
    """The summary for machines (format 1): verdict, counts, problems and all cases."""
    return {
        **picked(summary, "verdict passed counts shared"),
        "report": str(run.path),
        **picked(run, "session kind systems started ended commits defects resting"),
        "newer": [{"session": each.session, "is": str(each)} for each in run.newer],
        "reframe": run.told("version"),
        "references": reference_legend(run),
        **picked(headline(run, summary), "fabric run next"),
        "lacking": run.lacking or None,
        "problems": [
            {
                **picked(problem, "status subject causes nodes"),
                "cases": [case.title for case in problem.cases],
                "layer": problem.layer or None,
            }
            for problem in summary.problems
        ],
        "cases": [_case_json(case) for case in (*run.cases, *run.failed_builds)],
    }


def _case_json(case: ReportedCase) -> dict[str, Any]:
    maybe = picked(case, "benchmark placement evidence reference_kind")
    return {
        **picked(case, "name status result system partition environ fixture nodes causes"),
        **{name: each or None for name, each in maybe.items()},
        "disturbed_before": case.disturbed_before,
        "critical_before": case.critical_before,
        "jobid": case.job or None,
        "values": {
            each.variable: {**picked(each, "value unit lower upper"), "level": each.level or None}
            for each in case.samples
        },
    }
