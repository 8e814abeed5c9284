"""``fabricheck testbed``."""

import typer

app = typer.Typer(help="A Slurm cluster of namespaces on this machine.", no_args_is_help=True)
