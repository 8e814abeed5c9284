"""Tables of the simulations, as a document has them."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from simulation.power import Rate

Row = dict[str, Any]
SeedOption = Annotated[int, typer.Option(min=0, help="All values follow from it.")]
OtavaOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PYTHON",
        help="Python of an environment with apache-otava.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def share(rate: Rate) -> str:
    """A rate in per cent, with its interval."""
    low, high = rate.interval
    return f"{100 * rate.value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def per_thousand(rate: Rate) -> str:
    """A rate per thousand, with its interval."""
    low, high = rate.interval
    return f"{1000 * rate.value:.2f} ({1000 * low:.2f} to {1000 * high:.2f})"


def print_table(title: str, rows: list[Row]) -> None:
    """A table that can be put into a document as it is."""
    typer.echo(f"\n{title[0].upper()}{title[1:]}:\n")
    typer.echo("| " + " | ".join(rows[0]) + " |")
    typer.echo("|" + "---|" * len(rows[0]))
    for row in rows:
        typer.echo("| " + " | ".join(str(cell) for cell in row.values()) + " |")


def show(
    data: dict[str, Any], tables: Iterable[tuple[str, Iterable[Row]]], *, machine: bool
) -> None:
    """Tables one after the other as they come, or all of them as JSON."""
    for title, rows in tables:
        table = list(rows)
        data[title] = table
        if not machine:
            print_table(title, table)
    if machine:
        write(data)


def write(data: Any) -> None:
    """Data as JSON."""
    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
