"""``fabricheck compare``: two environments, transports, places or runs beside each other."""

from pathlib import Path
from typing import Annotated

import typer

from fabricheck.cli.console import open_console
from fabricheck.cli.options import (
    STORE,
    JsonOption,
    SelectArgument,
    SinceOption,
    StoreOption,
    moment,
)
from fabricheck.cli.output import write_json

_WIDTH = 160


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="One side: a name, or runs.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other, of the same kind.")],
    series: SelectArgument = None,
    *,
    since: SinceOption = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page with the figure.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show also what does not differ.")] = False,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """Compare two environments, transports, partitions, systems or runs of the history.

    A side is a name that the record has, as openmpi5 or ofi_tcp; several joined by +, as
    openmpi5+ofi_tcp; FIELD=NAME where a name is two things; or runs: a session, or a period as for
    "fabricheck accept". All else must be alike: series are compared with their like, and what has
    none is named. Ratios above 1 mean that B is better, whatever the metric.

    Reads the history: "fabricheck history refresh" brings it up to date. Nothing is measured. The
    method, and how often it is wrong, are in docs/explanation/acceptance-errors.md.

    Exit code 0: compared, whatever differs. 2: bad input, or nothing to compare.

    Examples:

        fabricheck compare openmpi openmpi5 --html openmpi5.html

        fabricheck compare tcp ofi_tcp benchmark=latency,bw environ=mpich5

        fabricheck compare openmpi+tcp openmpi5+ofi_tcp --since 2026-11-20

        fabricheck compare 20261101:20261115 20261115:now transport=rc

        fabricheck compare partition=a partition=b --json | jq '.ratios[0]'
    """
    # They take a second to import, which the other commands need not wait for.
    from fabricheck.acceptance import side_by_side_text as shown
    from fabricheck.acceptance.named_sides import read_named_sides
    from fabricheck.acceptance.side_by_side import side_by_side
    from fabricheck.history.selection import Selection
    from fabricheck.history.store import History

    with History.open_to_read(store) as history:
        wanted = Selection.read(series or (), moment(since))
        values, apart = read_named_sides(history, (a, b), wanted)
    found = {"a": a, "b": b, **side_by_side(values, apart)}
    if html:
        shown.write_page(found, html)
    if machine:
        write_json(found)
        return
    shown.show(found, open_console(_WIDTH), every=every)
    if html:
        typer.echo(f"page    {html.resolve()}")
