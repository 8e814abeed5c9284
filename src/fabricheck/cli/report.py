"""``fabricheck report``: the verdict on a run, on the terminal, as a page, or for machines."""

import json
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fabricheck.report import terminal
from fabricheck.report.load import load, newest_report
from fabricheck.report.summary import as_json, summarise


def report(
    run_report: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN_REPORT.json]",
            help="ReFrame's run report. Default: the newest one in the reports directory.",
            show_default=False,
        ),
    ] = None,
    reports: Annotated[
        Path,
        typer.Option(
            envvar="FABRICHECK_REPORTS", help="Directory in which to look for the newest report."
        ),
    ] = Path("reports"),
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the offline HTML page.", show_default=False),
    ] = None,
    machine: Annotated[  # noqa: FBT002
        bool, typer.Option("--json", help="Print the summary as JSON instead of text.")
    ] = False,
    table: Annotated[  # noqa: FBT002
        bool, typer.Option("--table/--no-table", help="Show the matrix below the text.")
    ] = True,
) -> None:
    """Say what a run found: verdict, problems, matrix, and one offline page.

    Exit code 0: something was judged, and nothing is critical, untrusted, without reference,
    failed, aborted or missing. 1: otherwise. 2: the input cannot be read or the page not written.

    Examples:

        fabricheck report

        fabricheck report reports/run-3.json --html fabric.html

        fabricheck report --json | jq .counts
    """
    path = run_report or newest_report(reports)
    raise typer.Exit(show(path, html=html, table=table, machine=machine))


def show(path: Path, *, html: Path | None = None, table: bool = True, machine: bool = False) -> int:
    """Show the run that the file records, write its page if one is asked for; the exit code.

    Raises:
        FabricheckError: if the record cannot be read or the page not written.
    """
    run = load(path)
    summary = summarise(run)
    if html is not None:
        # Bokeh and Jinja take a while to import: only the page pays for them.
        from fabricheck.report.page import write_page  # noqa: PLC0415

        write_page(run, summary, html)
    if machine:
        json.dump(as_json(run, summary), sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")
        return summary.exit_code
    console = _console()
    terminal.show(run, summary, console, table=table)
    console.print(f"record  {run.path}", soft_wrap=True)
    if html is not None:
        console.print(f"page    {html.resolve()}", soft_wrap=True)
    return summary.exit_code


def _console() -> Console:
    """Standard output; where its encoding lacks a character, the rest must still be readable."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, width=terminal.WIDTH)
