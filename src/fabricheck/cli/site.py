"""``fabricheck site``: write the file of a new site, and say what it lacks."""

import shlex
import socket
from dataclasses import asdict
from typing import Annotated

import typer

from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import tell
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE, home

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(help="Name of the system and of its file.", metavar="NAME")
]


@app.command()
def init(
    name: NameArgument,
    *,
    on_node: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Asks for the hardware on a node instead of here; the scheduler's launcher is "
            "asked for a node of each partition.",
        ),
    ] = "",
    alone: Annotated[
        bool, typer.Option("--alone", help="This machine is the whole site, without Slurm.")
    ] = False,
    hostname: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="Hosts from which ReFrame is started.", show_default="this host"
        ),
    ] = None,
) -> None:
    """Write sites/NAME.yaml from sinfo, ibv_devinfo, ucx_info, lscpu and Spack.

    A file that exists is never changed. What could not be asked is listed, and what the site will
    not measure for that.

    Exit code 0: written. 2: bad input, or sinfo or the command on a node fails: nothing is written.

    Examples:

        fabricheck site init mycluster --on-node "srun -N1 -p compute"

        fabricheck site init laptop --alone
    """
    from fabricheck.asking import ask
    from fabricheck.planning import site_init

    if alone and on_node:
        raise FabricheckError("FC2530 expected --alone or --on-node, found both: leave one out")
    try:
        before = shlex.split(on_node)
    except ValueError as error:
        raise FabricheckError(
            f"FC2531 expected a command after --on-node, found {on_node!r} ({error}): close its "
            "quotes"
        ) from error
    facts = site_init.gather(ask, before, alone=alone)
    path = home(SUITE) / "sites" / f"{name}.yaml"
    site_init.write(path, name, facts, hostname or f"^{socket.gethostname()}$")
    for sentence in facts.missing:
        typer.echo(f"not found: {sentence}")
    for sentence in site_init.unmeasured(facts):
        typer.echo(f"note: {sentence}")
    typer.echo(f"{path}: look through it, then: fabricheck site check {name}")


@app.command()
def check(name: NameArgument, *, machine: JsonOption = False) -> None:
    """Show what a site lacks: what fails its runs, and what makes them see less.

    Exit code 0: nothing is wrong. 1: something is wrong. 2: no such site, or its file
    breaks the schema.

    Examples:

        fabricheck site check testbed
    """
    from fabricheck.planning import site_check

    remarks = site_check.check(SUITE, name)
    wrong = sum(remark.effect is site_check.Effect.WRONG for remark in remarks)
    lines = [f"{remark.effect}: {remark.words}" for remark in remarks]
    lines.append(f"{name}: {wrong} wrong; see what it measures: fabricheck plan --system {name}")
    tell(lines, {"remarks": [asdict(remark) for remark in remarks]}, machine=machine)
    raise typer.Exit(int(bool(wrong)))
