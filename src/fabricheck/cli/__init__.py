"""The command line of fabricheck."""

import sys

import typer

from fabricheck.errors import FabricheckError

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
        app()
    except FabricheckError as error:
        print(f"fabricheck: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)


from fabricheck.cli import judge, parse, report, testbed  # noqa: E402

app.command(name="parse")(parse.parse)
app.command(name="judge")(judge.judge)
app.command(name="report")(report.report)
app.add_typer(testbed.app, name="testbed")
