"""``fabricheck stress``: a mix of collectives, block after block, in a job that yields to users."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabricheck.cli.options import JsonOption, gathered
from fabricheck.cli.output import picked, tell
from fabricheck.cli.run import SystemOption
from fabricheck.errors import FabricheckError
from fabricheck.schedulers import to_copy

if TYPE_CHECKING:
    from fabricheck.stress.control import Wish

app = typer.Typer(no_args_is_help=True)

_LAST_LINES = 50

NameOption = Annotated[
    str,
    typer.Option(
        help="Name of the stress.", show_default="the system, or the only one", metavar="NAME"
    ),
]


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be put under load."""

    system: SystemOption = None
    local: Annotated[
        bool, typer.Option("--local", help="On this machine without Slurm: the system 'local'.")
    ] = False
    name: NameOption = ""
    partition: Annotated[
        str, typer.Option(help="Partition, where several allow stress.", metavar="NAME")
    ] = ""
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Leave this node out; may be repeated.", metavar="NODES"),
    ] = None
    placement: Annotated[
        str,
        typer.Option(
            help="Such as rc-8n, on no more nodes.", show_default="the site's", metavar="PLACEMENT"
        ),
    ] = ""
    on_bad_node: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Run for each node that is left out: $NODE, and why as $REASON.",
        ),
    ] = ""
    forget: Annotated[
        bool, typer.Option("--forget", help="Take nodes again that a stress found dead.")
    ] = False

    def wish(self, **more: Any) -> "Wish":
        """A stress of it."""
        from fabricheck.reframe_ext.config import system_here
        from fabricheck.stress.control import Wish

        return Wish(
            system="local" if self.local else self.system or system_here(),
            name=self.name,
            partition=self.partition,
            exclude=tuple(self.exclude or ()),
            placement=self.placement,
            on_bad_node=self.on_bad_node,
            forget=self.forget,
            **more,
        )


_tell = partial(typer.echo, err=True)


@app.command()
@gathered
def start(
    *,
    target: Target,
    mix: Annotated[
        str,
        typer.Option(
            help="A mix, or a file of YAML.", show_default="the site's, or seed", metavar="MIX"
        ),
    ] = "",
    length: Annotated[str, typer.Option("--for", metavar="TIME", help="How long.")] = "1h",
    duty: Annotated[
        float,
        typer.Option(
            help="Share of the time in which blocks run; 0.02 is monitoring.", metavar="SHARE"
        ),
    ] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Start a stress: a job that yields to users, and takes all nodes of the partition in turns.

    A second one of the same name is refused. Nodes and links that die are left out while it runs.
    docs/how-to/stress.md has its cost.

    Examples:

        fabricheck stress start --system testbed

        fabricheck stress start --system mycluster --for 24h --duty 0.02

        fabricheck stress start --local --mix my-mix.yaml --for 10m
    """
    from fabricheck.stress import control
    from fabricheck.units import seconds_of

    place = control.start(target.wish(mix=mix, seconds=seconds_of(length), duty=duty), _tell)
    tell((), picked(place, "name") | {"job": place.state().job}, machine=as_json)


@app.command()
def stop(
    *,
    name: NameOption = "",
    now: Annotated[
        bool, typer.Option("--now", help="At once; the block under way does not count.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """End a stress after the block under way, and wait for the end of its job.

    Examples:

        fabricheck stress stop

        fabricheck stress stop --now
    """
    from fabricheck.stress import control

    place = control.place_of(name)
    control.stop(place, _tell, now=now)
    tell((), picked(place, "name") | {"why": place.state().why}, machine=as_json)


@app.command()
def status(*, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Show what a stress is doing: job, iteration, blocks by level, dead nodes, coverage, links.

    Examples:

        fabricheck stress status

        fabricheck stress status --json
    """
    from fabricheck.nodes.names import fold
    from fabricheck.stress import control

    told = control.status(control.place_of(name))
    levels = ", ".join(f"{number} {level}" for level, number in told["blocks"].items())
    lines = [
        f"stress {told['name']}: {told['phase']}{told['why'] and ': ' + told['why']}",
        f"job {told['job']} {told['nodes']}, restarts {told['restarts']}",
        f"iteration {told['iteration']}; blocks: {levels or 'none yet'}",
        *(f"  {line}" for line in told["last"]),
        *(f"link use of {port} in the last block: {use}" for port, use in told["links"].items()),
    ]
    covered = told["coverage"]
    hours, left = covered["every"] / 3600, fold(covered["not_measured"])
    lines.append(
        f"coverage: {covered['measured']} of {covered['nodes']} nodes in the last {hours:g} h"
        f"{left and '; not yet: ' + left}{covered['late'] and '; late: ' + fold(covered['late'])}"
    )
    for node, why in told["dead"].items():
        lines.append(f"{node}: {why}: left out; to keep users off it:")
        lines.append(f"  {to_copy([node], why)[-1]}")
    tell(lines, told, machine=as_json)


@app.command()
def servers(*, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Show what the nodes of the last block are: state, ranks, ports, link use, marks, pauses.

    Examples:

        fabricheck stress servers
    """
    from fabricheck.stress import control

    told = control.servers(control.place_of(name))
    lines = [f"{node}: {word}, {told['ranks']} ranks" for node, word in told["nodes"].items()]
    lines += told["ports"]
    lines += [f"{port}: link use {use}" for port, use in told["links"].items()]
    for metric, rate in told["rates"].items():
        lines.append(f"{metric.replace('_', ' ')} of the worst port: {rate:.4g}/s")
    tell(lines, told, machine=as_json)


@app.command()
def log(*, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Show the last lines that the job of a stress has printed.

    Examples:

        fabricheck stress log
    """
    from fabricheck.stress import control

    path = control.place_of(name).log
    if not path.exists():
        raise FabricheckError(
            f"FC2532 expected what the job prints in {path}, found none yet: wait"
        )
    lines = path.read_text(errors="replace").splitlines()[-_LAST_LINES:]
    tell(lines, {"lines": lines}, machine=as_json)


@app.command()
@gathered
def once(
    *,
    target: Target,
    mix: Annotated[str, typer.Option(help="A mix, or a file of YAML.", metavar="MIX")] = "once",
    as_json: JsonOption = False,
) -> None:
    """Run one iteration, judge it, and write a file of results.

    Exit code 0: every block is good or a warning. 1: a block is worse or missing.

    Examples:

        fabricheck stress once --system testbed

        fabricheck stress once --local
    """
    from fabricheck.stress import control

    passed, path, text = control.once(target.wish(mix=mix, most_iterations=1), _tell)
    tell([text], {"passed": passed, "file": str(path)}, machine=as_json)
    _tell(f"written to {path}")
    raise typer.Exit(0 if passed else 1)


@app.command(hidden=True)
def work(place: Path) -> None:
    """Run the blocks of a stress; its job does this."""
    from fabricheck.stress.state import StressDirectory
    from fabricheck.stress.work import Worker

    Worker(StressDirectory(place)).run()
