"""``lab/simulate night``."""

from pathlib import Path
from typing import Annotated

import typer

from simulation.budget import read_night, tables
from simulation.tables import JsonOption, SeedOption, show


def night(
    *,
    share: Annotated[
        float, typer.Option(min=0.01, max=1, help="Of what all cases cost, the budget.")
    ] = 1 / 3,
    cases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Cases of a night: what fabricheck plan --night --json prints.",
            show_default="the testbed's",
        ),
    ] = None,
    faults: Annotated[int, typer.Option(min=20, help="Faults in each world.")] = 4000,
    seed: SeedOption = 20261122,
    machine: JsonOption = False,
) -> None:
    """Measure how soon a night within a budget sees faults, beside other ways to choose its cases.

    A simulated year. Prints the table of docs/explanation/budget.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate night --share 0.2

        fabricheck plan --system mycluster --night --json >cases && lab/simulate night --cases cases
    """
    found = tables(read_night(cases), share=share, faults=faults, seed=seed)
    show({"share": share, "faults": faults, "seed": seed}, found, machine=machine)
