"""The frame of the command line, and the list of its commands."""

import importlib
import inspect
import keyword
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from fabricheck.provenance import located

COMMANDS: Final = {
    "try": "Measure this machine alone: no root, no Slurm, no site file.",
    "init": "Write a repository for private systems: site files, references, nightly, pipeline.",
    "new-benchmark": "Write the folder of an own benchmark: program, check, and what to expect.",
    "run": "Run the checks of a system, and show the verdict.",
    "parse": "Read the output of a benchmark: sizes, columns, units and validation.",
    "judge": "Judge a measured curve: what is wrong, then the level on the last line.",
    "report": "Show what the last night found: verdict, problems, matrix, and one offline page.",
    "node": "Judge this node in seconds: ports and cards; for prologs and health checks.",
    "explain": "Line up verbs, UCX and MPI on the path of a case, and name the layer at fault.",
    "scaling": "Show time, bytes on the wire, effective bandwidth and parallel efficiency by node.",
    "trend": "Show what changed: events first, then what was judged.",
    "coverage": "Show when each node and port was measured, by what, and whether good.",
    "locate": "Name the node or link that is slower than its peers.",
    "accept": "Compare runs before a change with runs after it: accept, reject or inconclusive.",
    "compare": "Compare two environments, transports, partitions, systems or runs of the history.",
    "sweep": "Find the setting of environment variables that is better than the default.",
    "nightly": "Run a night: checks, history, trend, page, summary; bin/nightly.sh is for cron.",
    "plan": "Show the matrix of a system, and for every case that is left out what it lacks.",
    "exporter": "Serve metrics for Prometheus: the last run and night, or the ports of this node.",
    "dashboard": "Write a dashboard for Grafana: what is wrong now, or what became of the nights.",
    "testbed": "A Slurm cluster whose nodes are namespaces on this machine.",
    "history": "Read, show and export what was measured, night by night.",
    "baseline": "Propose, compare, accept and expire references that come from the history.",
    "references": "List and check the references of a system.",
    "site": "Write and check the file of a site.",
    "metrics": "Write metrics into a file instead of serving them.",
    "stress": "Keep a fabric under load between the nights, and judge every block.",
    "topology": "Show and check leaves, spines and routes.",
}
"""The commands and the first sentence of their help; each is a module of its name (``try_``)."""

PANELS: Final = {
    "Set up a site": "try init site plan new-benchmark topology baseline references testbed",
    "Measure": "run nightly locate accept sweep stress node",
    "Look at what came out": "report explain scaling trend coverage compare history parse judge",
    "Export": "exporter dashboard metrics",
}
"""What people come for, and the commands for it."""
_PANEL: Final = {name: panel for panel, names in PANELS.items() for name in names.split()}


def _tell_version(asked: bool) -> None:  # noqa: FBT001
    if asked:
        from importlib.metadata import version

        from fabricheck.provenance import SUITE, commit

        typer.echo(f"fabricheck {version('fabricheck')} ({commit(SUITE) or 'no commit'})")
        raise typer.Exit


def build(wanted: Sequence[str]) -> typer.Typer:
    """The application.

    Args:
        wanted: the one command that is needed, as each import takes time. If none has this name,
            only the first sentences of all. If empty, all commands, whole.
    """
    app = typer.Typer(
        name="fabricheck",
        help="Regression tests for MPI and RDMA fabrics.",
        epilog="An error ends with a code such as FC0502: "
        f"{located('docs/reference/errors.md')} lists them, beside all pages that are named.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    # With a callback, a lone command keeps its name instead of becoming the whole application.
    app.callback()(_of_all)
    known = [name for name in wanted if name in COMMANDS]
    for name in known or COMMANDS:
        if wanted and not known:
            app.command(name, help=COMMANDS[name], rich_help_panel=_PANEL[name])(lambda: None)
            continue
        own = f"{name}_" if keyword.iskeyword(name) else name.replace("-", "_")
        module = importlib.import_module(f"fabricheck.cli.{own}")
        if hasattr(module, "app"):
            for each in module.app.registered_commands:
                each.help = flowing(each.help or inspect.getdoc(each.callback))
            app.add_typer(module.app, name=name, help=COMMANDS[name], rich_help_panel=_PANEL[name])
        else:
            command = getattr(module, own)
            app.command(name, help=flowing(inspect.getdoc(command)), rich_help_panel=_PANEL[name])(
                command
            )
    return app


def flowing(text: str | None) -> str:
    """The help of a command, its sentences free to fill a line of any width.

    Paragraphs with examples, which are indented, keep their lines.
    """
    paragraphs = (text or "").split("\n\n")
    joined = (each if "\n " in f"\n{each}" else each.replace("\n", " ") for each in paragraphs)
    return "\n\n".join(joined)


def _of_all(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Show it.")
    ] = False,
) -> None:
    """Regression tests for MPI and RDMA fabrics."""
