"""``fabricheck report``: the verdict on a run, on the terminal, as a page, or for machines."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fabricheck.report.load import load, newest_report
from fabricheck.report.summary import as_json, summarise
from fabricheck.report.terminal import WIDTH, show

_EPILOG = """
**Examples**

`fabricheck report` : the newest run below ./reports

`fabricheck report reports/run-3.json --html fabric.html` : also write the page

`fabricheck report --json | jq .counts` : for machines

**Exit code**: 0 if something was judged and nothing is critical, untrusted, without reference,
failed, aborted or missing; 1 otherwise; 2 if the input cannot be read or the page not written.
"""


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
    as_machine: Annotated[  # noqa: FBT002
        bool, typer.Option("--json", help="Print the summary as JSON instead of text.")
    ] = False,
    table: Annotated[  # noqa: FBT002
        bool, typer.Option("--table/--no-table", help="Show the matrix below the text.")
    ] = True,
) -> None:
    """Say what a run found: verdict, problems, matrix, and one offline page."""
    path = run_report or newest_report(reports)
    run = load(path)
    summary = summarise(run)
    if html is not None:
        # Bokeh and Jinja take a second to import: only the page pays for them.
        from fabricheck.report.page import write_page  # noqa: PLC0415

        write_page(run, summary, html)
    if as_machine:
        json.dump(as_json(run, summary), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        console = _console()
        show(run, summary, console, table=table)
        console.print(f"record  {run.path}", soft_wrap=True, highlight=False)
        if html is not None:
            console.print(f"page    {html.resolve()}", soft_wrap=True, highlight=False)
    raise typer.Exit(summary.exit_code)


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    return console
