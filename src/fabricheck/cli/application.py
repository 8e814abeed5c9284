"""The frame of the command line, and the list of its commands."""

import importlib
from importlib.metadata import version
from typing import Annotated, Final

import typer

from fabricheck.provenance import SUITE, commit

COMMANDS: Final = (
    "init",
    "run",
    "parse",
    "judge",
    "report",
    "explain",
    "scaling",
    "trend",
    "locate",
    "accept",
    "nightly",
    "plan",
    "exporter",
    "dashboard",
)
GROUPS: Final = (
    "testbed",
    "history",
    "baseline",
    "references",
    "site",
    "metrics",
    "stress",
    "topology",
)


def _tell_version(asked: bool) -> None:  # noqa: FBT001
    if asked:
        typer.echo(f"fabricheck {version('fabricheck')} ({commit(SUITE) or 'no commit'})")
        raise typer.Exit


def build(wanted: list[str]) -> typer.Typer:
    """The application; with only the wanted command if there is such, as each import takes time."""
    app = typer.Typer(
        name="fabricheck",
        help="Regression tests for MPI and RDMA fabrics.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    # With a callback, a lone command keeps its name instead of becoming the whole application.
    app.callback()(_of_all)
    known = (*COMMANDS, *GROUPS)
    for name in [name for name in wanted if name in known] or known:
        module = importlib.import_module(f"fabricheck.cli.{name}")
        if name in GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name=name)(getattr(module, name))
    return app


def _of_all(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Show it.")
    ] = False,
) -> None:
    """Regression tests for MPI and RDMA fabrics."""
