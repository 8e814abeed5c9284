"""``fabricheck testbed``: a Slurm cluster of namespaces on this machine."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fabricheck.testbed.layout import STATE_VARIABLE, layout_at

app = typer.Typer(
    help="A Slurm cluster whose nodes are network namespaces on this machine.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def default_state_dir() -> Path:
    """``fabricheck/testbed`` below the user's XDG state directory."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "fabricheck" / "testbed"


StateDir = Annotated[
    Path,
    typer.Option(
        "--state-dir",
        envvar=STATE_VARIABLE,
        default_factory=default_state_dir,
        show_default="~/.local/state/fabricheck/testbed",
        help="Where the testbed keeps its state; one directory is one testbed.",
    ),
]


@app.command()
def up(
    state_dir: StateDir,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes.", show_default="4")] = None,
    cpus_per_node: Annotated[
        int | None,
        typer.Option(
            help="CPUs that each node claims in Slurm, whatever this machine has.",
            show_default="4",
        ),
    ] = None,
    share: Annotated[
        list[Path] | None,
        typer.Option(
            help="A directory below /tmp, /dev/shm or /run that all nodes must see; repeatable."
        ),
    ] = None,
) -> None:
    """Start the testbed, and return when all its nodes are idle.

    Running it twice is fine. The nodes see this machine's files, except that /tmp, /dev/shm and
    /run are private to each node; the working directory, its git checkout, the state directory
    and each --share are visible everywhere.

    Examples:

      fabricheck testbed up

      fabricheck testbed up --nodes 2 --cpus-per-node 8 --share /tmp/data
    """
    from rich.console import Console

    from fabricheck.testbed import lifecycle

    console = Console(stderr=True)
    with console.status("testbed") as spinner:

        def progress(step: str) -> None:
            if console.is_terminal:
                spinner.update(f"testbed: {step}")
            else:
                console.print(f"testbed: {step}", highlight=False)

        result = lifecycle.up(
            state_dir,
            nodes=nodes,
            cpus_per_node=cpus_per_node,
            shares=share or [],
            progress=progress,
        )
    names = f"{len(result.nodes)} nodes ({result.nodes[0]}-{result.nodes[-1]})"
    if result.already_running:
        typer.echo(f"Testbed already running: {names} in {state_dir}.")
    else:
        again = (
            f" (again, because {', '.join(result.restarted_for)})" if result.restarted_for else ""
        )
        typer.echo(f"Testbed ready in {result.seconds:.1f} s: {names} idle in {state_dir}{again}.")


@app.command(
    name="exec",
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)
def exec_(
    state_dir: StateDir,
    node: Annotated[str, typer.Argument(help="login, n1, n2 ... (or switch)")],
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="command and arguments")],
) -> None:
    """Run a command in a node, with this directory, environment and standard streams.

    The exit code is the command's; 128+N if signal N ended it. SLURM_CONF is set.

    Examples:

      fabricheck testbed exec login sinfo

      fabricheck testbed exec n1 bash

      fabricheck testbed exec login -- reframe -c checks/ -r
    """
    from fabricheck.testbed import enter

    # "exec NODE -- CMD" as well as "exec NODE CMD": the parser leaves the dashes in place.
    words = command[1:] if command[0] == "--" else command
    sys.exit(enter.run_in_node(layout_at(state_dir), node, words))


@app.command()
def down(state_dir: StateDir) -> None:
    """End the testbed and remove its state; says what it removed.

    Examples:

      fabricheck testbed down

      fabricheck testbed down --state-dir /tmp/second
    """
    from fabricheck.testbed import lifecycle

    result = lifecycle.down(state_dir)
    if not (result.processes or result.files):
        typer.echo(f"No testbed in {state_dir}: nothing to remove.")
        return
    processes = ", ".join(result.processes) or "none alive"
    typer.echo(f"Ended processes: {processes}.")
    typer.echo(f"Removed: {', '.join(result.files)}.")
