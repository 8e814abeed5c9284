"""``fabricheck plan``: what a run on a system measures, and why it measures nothing else."""

from dataclasses import asdict
from typing import Annotated

import typer

from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import write_json
from fabricheck.provenance import SUITE, home

SystemOption = Annotated[
    str, typer.Option(help="ReFrame's name of the system.", show_default=False)
]


def plan(
    *,
    system: SystemOption,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            help="Only the run of this tag, such as nightly; may be repeated.", show_default="all"
        ),
    ] = None,
    machine: JsonOption = False,
) -> None:
    """Show the matrix of a system, and for every case that is left out what it lacks.

    The checks are loaded by ReFrame and selected by its own rules; nothing runs. With --json, every
    single case is listed. What the run costs is told from what its cases took before.

    Exit code 0: shown. 2: bad input.

    Examples:

        fabricheck plan --system testbed

        fabricheck plan --system testbed --tag nightly --json | jq '.left_out[].reason'
    """
    from fabricheck.planning import show  # noqa: PLC0415
    from fabricheck.planning.plan import make  # noqa: PLC0415
    from fabricheck.record.costs import Key, costs, estimate  # noqa: PLC0415

    made = make(SUITE, system, tag or ())
    keys = [
        Key(each.partition, each.environ, each.check, each.benchmark, each.placement)
        for each in made.cases
    ]
    cost = estimate(keys, costs(home(SUITE) / "perflogs", system))
    if machine:
        write_json({**asdict(made), "cost": asdict(cost)})
        return
    for line in show.plan_lines(made):
        typer.echo(line)
    typer.echo(show.cost_line(cost))
