"""``fabricheck references``: what judges a system, and whether that fits what it measures."""

from dataclasses import asdict
from typing import Annotated

import typer

from fabricheck.cli import completion
from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import tell
from fabricheck.provenance import SUITE

SystemOption = Annotated[
    str,
    typer.Option(
        help="ReFrame's name of the system.", autocompletion=completion.systems, metavar="NAME"
    ),
]
app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    *,
    system: SystemOption,
    check: Annotated[
        str | None,
        typer.Option(help="Only those of one check class.", show_default="all", metavar="CLASS"),
    ] = None,
    machine: JsonOption = False,
) -> None:
    """List every reference of a system: limits, unit, kind, source and date.

    Exit code 0: listed. 2: bad input.

    Examples:

        fabricheck references list --system mycluster

        fabricheck references list --system testbed --json | jq '.references[].source'
    """
    from fabricheck.planning import plan_text, references

    found = [row for row in references.rows(SUITE, system) if check in (None, row.check)]
    tell(
        plan_text.reference_lines(found),
        {"references": [asdict(row) for row in found]},
        machine=machine,
    )


@app.command()
def check(*, system: SystemOption, machine: JsonOption = False) -> None:
    """Find cases without a reference, and references without a case.

    The cases are those of "fabricheck plan". A value that nothing judges fails its case; a
    reference whose value is not measured does too.

    Exit code 0: they meet. 1: a case or a reference is alone. 2: bad input.

    Examples:

        fabricheck references check --system testbed
    """
    from fabricheck.planning import plan, plan_text, references

    found = references.check(SUITE, plan.make(SUITE, system))
    tell(plan_text.check_lines(found), asdict(found), machine=machine)
    raise typer.Exit(int(bool(found.without_reference or found.partly or found.without_case)))
