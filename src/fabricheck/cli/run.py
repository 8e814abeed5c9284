"""``fabricheck run``."""

from pathlib import Path
from typing import Annotated

import typer

SUITE = Path(__file__).resolve().parents[3]


def run(
    system: Annotated[
        str, typer.Option(help="System of sites/; 'testbed' starts the embedded cluster.")
    ] = "testbed",
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only this benchmark; may be repeated.")
    ] = None,
    transport: Annotated[
        list[str] | None, typer.Option(help="Only this transport; may be repeated.")
    ] = None,
    environ: Annotated[
        list[str] | None, typer.Option(help="Only this environment (MPI); may be repeated.")
    ] = None,
) -> None:
    """Run the checks of a system, and show the verdict.

    Exit code 0: everything that ran is good or a warning. 1: something is critical, untrusted,
    without reference or did not run. 2: bad input.

    Examples:

        fabricheck run

        fabricheck run --benchmark latency --transport shm

        fabricheck run --system local --environ mpich
    """
    from fabricheck.cli.report import show
    from fabricheck.runner.selection import Selection, check
    from fabricheck.runner.session import run as run_session

    selection = Selection(
        system, tuple(benchmark or ()), tuple(transport or ()), tuple(environ or ())
    )
    check(SUITE, selection)
    if system == "testbed":
        start_testbed()
    code, report = run_session(SUITE, selection)
    raise typer.Exit(max(show(report, html=SUITE / "reports" / "fabricheck.html"), min(code, 1)))
