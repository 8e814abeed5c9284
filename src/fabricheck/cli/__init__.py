"""The command line of fabricheck."""

import importlib
import sys

import typer

from fabricheck.errors import FabricheckError

COMMANDS = ("parse", "judge", "report")
GROUPS = ("testbed",)

app = typer.Typer(
    name="fabricheck",
    help="Regression tests for MPI and RDMA fabrics.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; problems that the user can act on end with one sentence."""
    try:
        add_commands(sys.argv[1:2])
        app()
    except FabricheckError as error:
        print(f"fabricheck: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)


def add_commands(wanted: list[str]) -> None:
    """Wire the commands; only the wanted one if there is such, because each import costs time."""
    known = (*COMMANDS, *GROUPS)
    for name in [name for name in wanted if name in known] or known:
        module = importlib.import_module(f"fabricheck.cli.{name}")
        if name in GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name=name)(getattr(module, name))
