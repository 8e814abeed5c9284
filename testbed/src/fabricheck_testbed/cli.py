"""The commands: a Slurm cluster of namespaces on this machine."""

import contextlib
import inspect
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from fabricheck_testbed import doctor as doctor_module
from fabricheck_testbed import faults, lifecycle
from fabricheck_testbed import status as status_module
from fabricheck_testbed.door import Door, Request
from fabricheck_testbed.layout import GUEST_NODES, layout_at

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
_STYLES: Final = {
    doctor_module.OK: "green",
    doctor_module.WARNING: "yellow",
    doctor_module.PROBLEM: "red",
}
_WIDTH: Final = 100
"""Columns of an output that is not a terminal."""
_PASSES_ON: Final = {"allow_interspersed_args": False, "ignore_unknown_options": True}


def application(door: Door) -> typer.Typer:
    """The command line, as one calls it through this door."""
    app = typer.Typer(
        help="A Slurm cluster whose nodes are namespaces on this machine.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, command in COMMANDS.items():
        app.command(
            name,
            help=inspect.cleandoc(command.__doc__ or "").replace("%(prog)s", door.command),
            context_settings=_PASSES_ON if command in (exec_, fault) else {},
        )(_through(door, command))
    return app


def _through(door: Door, command: Callable[..., None]) -> Callable[..., None]:
    """The command with its option for the state directory, which depends on the door."""

    @wraps(command)
    def run(**given: Any) -> None:
        command(**given)

    option = typer.Option(
        "--state-dir",
        metavar="DIR",
        envvar=door.variable,
        default_factory=door.default,
        show_default=f"~/.local/state/{door.place}",
        help="Where the testbed keeps its state; one directory is one testbed.",
    )
    told = inspect.signature(command)
    first, *others = told.parameters.values()
    first = first.replace(annotation=Annotated[Path, option])
    run.__signature__ = told.replace(parameters=[first, *others])  # type: ignore[attr-defined]
    return run


def _console() -> Console:
    """Standard output, where brackets are text and no markup."""
    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=_WIDTH)


def _write_json(data: dict[str, Any]) -> None:
    json.dump({"format": 1, **data}, sys.stdout, indent=2)
    sys.stdout.write("\n")


def up(
    state_dir: Path,
    *,
    nodes: Annotated[
        int | None, typer.Option(help="Number of nodes.", show_default="4", metavar="N")
    ] = None,
    cpus_per_node: Annotated[
        int | None,
        typer.Option(
            help="CPUs that each node claims in Slurm, whatever this machine has.",
            show_default="4",
            metavar="N",
        ),
    ] = None,
    share: Annotated[
        list[Path] | None,
        typer.Option(
            help="A directory below /tmp, /dev/shm or /run that all nodes must see; repeatable.",
            metavar="DIR",
        ),
    ] = None,
    rdma: Annotated[
        bool | None,
        typer.Option(
            "--rdma/--no-rdma",
            help="With two more nodes, rx1 and rx2, that have RDMA devices (an emulated machine).",
            show_default="as it runs, else without",
        ),
    ] = None,
    cards: Annotated[
        int | None,
        typer.Option(
            help="RDMA devices of rx1 and rx2 each.", show_default="as it runs, else 1", metavar="N"
        ),
    ] = None,
    rdma_nodes: Annotated[
        int | None,
        typer.Option(
            help="Nodes with RDMA devices, rx1 and so on.",
            show_default="as it runs, else 2",
            metavar="N",
        ),
    ] = None,
    fabric: Annotated[
        str | None,
        typer.Option(
            help="What joins the nodes: bridge, leaf-spine (routers with ECMP), or leaf-spine-lft "
            "(one spine for each destination).",
            show_default="bridge",
            metavar="FABRIC",
        ),
    ] = None,
) -> None:
    """Start the testbed, and return when all its nodes are idle.

    Running it twice is fine. A testbed with a dead part is replaced.

    The nodes see this machine's files, except that /tmp, /dev/shm and /run are private to each
    node. Below these, the working directory, its git checkout, the state directory and each
    --share stay visible everywhere.

    Examples:

      %(prog)s up

      %(prog)s up --nodes 2 --cpus-per-node 8 --share /tmp/data

      %(prog)s up --rdma

      %(prog)s up --rdma --cards 4 --rdma-nodes 3

      %(prog)s up --fabric leaf-spine
    """
    with _progress_shown() as progress:
        result = lifecycle.up(
            state_dir,
            nodes=nodes,
            cpus_per_node=cpus_per_node,
            shares=share or [],
            rdma=rdma,
            fabric=fabric,
            cards=cards,
            rdma_nodes=rdma_nodes,
            progress=progress,
        )
    count = len(result.nodes)
    names = f"{count} node{'s' if count > 1 else ''} ({_ranges(result.nodes)})"
    if result.already_running:
        typer.echo(f"Testbed already running: {names} in {state_dir}.")
        return
    why = f", after cleaning up ({', '.join(result.restarted_for)})" if result.restarted_for else ""
    typer.echo(f"Testbed ready in {result.seconds:.1f} s: {names} idle in {state_dir}{why}.")


def _ranges(nodes: list[str]) -> str:
    """The names, shortened where numbers follow each other: ``n1-n4, n7, rx1-rx2``."""

    def run_of(at: tuple[int, str]) -> tuple[str, int]:
        stem = at[1].rstrip("0123456789")
        return stem, int(at[1][len(stem) :] or 0) - at[0]

    runs = [[node for _, node in run] for _, run in itertools.groupby(enumerate(nodes), run_of)]
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@contextlib.contextmanager
def _progress_shown() -> Iterator[lifecycle.Progress]:
    console = Console(stderr=True)
    with console.status("testbed") as spinner:

        def progress(step: str) -> None:
            spinner.update(f"testbed: {step}")
            if not console.is_terminal:
                console.print(f"testbed: {step}", highlight=False, markup=False)

        yield progress


def status(state_dir: Path, *, as_json: JsonOption = False) -> None:
    """Show the nodes with their Slurm state, address, processes and uptime.

    Exit code 0 if the testbed runs and is well, 1 if not.

    Examples:

      %(prog)s status

      %(prog)s status --json | jq -r '.nodes[] | select(.slurm_state=="idle") | .name'
    """
    found = status_module.status(layout_at(state_dir))
    if as_json:
        _write_json(found.as_json())
    elif not found.running:
        typer.echo(f"No testbed runs in {found.state_dir}.")
    else:
        _print_status(found)
    raise typer.Exit(0 if found.running and not found.problems else 1)


def _print_status(found: status_module.TestbedStatus) -> None:
    console = _console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("NODE", "STATE", "ADDRESS", "PID", "DAEMON", "UPTIME"):
        table.add_column(title, no_wrap=True)
    for node in found.nodes:
        uptime = "-" if node.uptime_seconds is None else f"{node.uptime_seconds:.0f} s"
        in_guest = node.name in GUEST_NODES
        daemon = f"{node.daemon} {node.daemon_pid or ('in guest' if in_guest else 'dead')}"
        table.add_row(
            node.name, node.slurm_state, node.address, str(node.pid or "dead"), daemon, uptime
        )
    console.print(table)
    if (guest := found.guest) is not None:
        memory = f"{guest.memory_mb} of {guest.memory_limit_mb} MB"
        console.print(
            f"guest of rx1, rx2: QEMU {guest.pid} ({guest.accelerator}), {memory}"
            if guest.pid
            else "guest of rx1, rx2: dead",
            highlight=False,
        )
    for problem in found.problems:
        console.print(f"problem: {problem}", style="red", highlight=False, markup=False)
    typer.echo(f"{found.state_dir}, as {found.mode}")


def exec_(
    state_dir: Path,
    node: Annotated[
        str, typer.Argument(help="login, n1, n2 ..., rx1, rx2 (or switch, guest: the machinery)")
    ],
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="Command and arguments.")],
) -> None:
    """Run a command in a node, with this directory, environment and standard streams.

    SLURM_CONF is set. The exit code is the command's own, or 128+N if signal N ended it.

    Examples:

      %(prog)s exec login sinfo

      %(prog)s exec n1 bash

      %(prog)s exec login -- reframe -c checks/ -r
    """
    # Plain requests never come here: see Door.request.
    sys.exit(Request(state_dir, node, command).run())


def fault(
    state_dir: Path,
    target: Annotated[str, typer.Argument(help="n1, n2 ..., rx1, rx2; leaf1, leaf1-spine2 ...")],
    words: Annotated[
        list[str], typer.Argument(metavar="FAULT...", help="What to do to the link, as above.")
    ],
) -> None:
    """Disturb a node's link: an ordinary node's to the switch, or the cable of an RDMA device.

    On rx1 and rx2, all that tc-netem(8) takes: it acts on what the node sends; and red RATE, a slow
    link that marks what queues up as congested (ECN); and rename NAME, another name of the device.
    Of several cards rx1:2 is the third. On the others, in both directions: rate, as for tc-tbf(8),
    loss N% and delay TIME. On all: link down, link up, mtu NUMBER, clear, list.

    With leaves and spines also: a leaf or a spine, a cable (leaf1-spine2), one direction
    (leaf1-to-spine2, n3-to-leaf2), a pair of nodes (n1-n6, n1-to-n6), or all (fabric).

    Examples:

      %(prog)s fault rx1 loss 2%

      %(prog)s fault rx1 loss 10% ecn

      %(prog)s fault rx1 red 20mbit

      %(prog)s fault n1 rate 100mbit

      %(prog)s fault leaf1-to-spine2 loss 2%

      %(prog)s fault rx2 link down

      %(prog)s fault rx2:3 rename other0

      %(prog)s fault rx2 list

      %(prog)s fault rx2 clear
    """
    files = layout_at(state_dir)
    if words != ["list"]:
        faults.inject(files, target, words)
    for line in faults.active(files, target) or [f"{target} has no fault."]:
        typer.echo(line)


def down(state_dir: Path) -> None:
    """End the testbed and remove its state; says what it removed.

    Examples:

      %(prog)s down

      %(prog)s down --state-dir /tmp/second
    """
    result = lifecycle.down(state_dir)
    if not (result.processes or result.files):
        typer.echo(f"No testbed in {state_dir}: nothing to remove.")
        return
    typer.echo(f"Ended processes: {', '.join(result.processes) or 'none was alive'}.")
    typer.echo(f"Removed: {', '.join(result.files)}.")


def doctor(state_dir: Path, *, as_json: JsonOption = False) -> None:
    """Check what a testbed needs, and the running one; each problem comes with its fix.

    Exit code 0 if there is no problem (warnings do not count), 1 if there is one.

    Examples:

      %(prog)s doctor

      %(prog)s doctor --json | jq '.checks[] | select(.level != "ok")'
    """
    checks = doctor_module.examine(layout_at(state_dir))
    if as_json:
        _write_json({"checks": [check._asdict() for check in checks]})
    else:
        console = _console()
        for check in checks:
            fix = f" -> {check.fix}" if check.fix else ""
            console.print(f"{check.level:8}", style=_STYLES[check.level], end=" ", soft_wrap=True)
            console.print(f"{check.name}: {check.found}{fix}", soft_wrap=True)
    problems = [check for check in checks if check.level == doctor_module.PROBLEM]
    raise typer.Exit(1 if problems else 0)


COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "up": up,
    "status": status,
    "exec": exec_,
    "fault": fault,
    "down": down,
    "doctor": doctor,
}
