"""``fabricheck topology``: what is known of a fabric, and what is not."""

from pathlib import Path
from typing import Annotated

import typer

from fabricheck.asking import UnansweredError, ask
from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import tell
from fabricheck.errors import FabricheckError
from fabricheck.localise.topology import Topology, as_json, flows_for_paths, nodes_in
from fabricheck.nodes.names import fold
from fabricheck.schedulers import here

app = typer.Typer(no_args_is_help=True)

FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="What was recorded; without it, Slurm is asked."),
]


@app.command()
def show(file: FileArgument = None, *, machine: JsonOption = False) -> None:
    """Show the leaves with their nodes and spines.

    FILE holds the output of one of these: scontrol show topology; ibnetdiscover, with the output of
    ibroute for each switch (dump_lfts.sh) after it; lldpcli -f json show neighbors of each node, on
    one line after the node's name; or this command with --json.

    Exit code 0, or 2 for bad input.

    Examples:

      fabricheck topology show

      fabricheck topology show fabric.txt --json > sites/mycluster.topology
    """
    found = _topology(file)
    lines = []
    for leaf, nodes in found.nodes_of().items():
        above = found.spines.get(leaf, ())
        routed = f", routes to {len(found.routes[leaf])} nodes" if leaf in found.routes else ""
        flows = f", {flows_for_paths(len(above))} flows hit every path" if above else ""
        lines.append(f"{leaf}: {fold(nodes)} | {fold(above) or 'unknown above'}{routed}{flows}")
    tell(lines, as_json(found), machine=machine)


@app.command()
def check(
    file: FileArgument = None,
    nodes: Annotated[
        str, typer.Option(metavar="NODES", help="Those to know, such as n[1-8].")
    ] = "",
) -> None:
    """Show what isn't known of the topology, and what that costs.

    Exit code 0: nothing is unknown. 1: something is unknown. 2: bad input.

    Examples:

      fabricheck topology check

      fabricheck topology check sites/mycluster.topology --nodes "c[001-320]"
    """
    found = _topology(file)
    sentences = list(found.unknown(nodes_in(nodes) if nodes else ()))
    leaves = len(found.nodes_of())
    typer.echo(f"known: {len(found.leaves)} nodes at {leaves} leaves")
    for sentence in sentences:
        typer.echo(sentence)
    raise typer.Exit(1 if sentences else 0)


def _topology(file: Path | None) -> Topology:
    from fabricheck.localise import recorded

    if file is not None:
        return recorded.load(file)
    question = here().topology
    try:
        found = recorded.read(ask(question))
    except UnansweredError as error:
        raise FabricheckError(
            f"FC2533 {' '.join(question)}: {error}: name a recorded FILE"
        ) from None
    if not found.leaves:
        raise FabricheckError(
            f"FC2534 expected leaf switches from {' '.join(question)}, found none: the scheduler "
            "has no topology here; name a recorded FILE"
        )
    return found
