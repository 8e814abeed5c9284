"""``fabricheck dashboard``: the dashboard for Grafana."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from fabricheck.report.files import write_whole


def dashboard(
    file: Annotated[
        Path, typer.Argument(help="Where to write it.", show_default="standard output")
    ] = Path("/dev/stdout"),
    *,
    nights: Annotated[
        bool, typer.Option("--nights", help="The one of the nights: a month, in place of now.")
    ] = False,
) -> None:
    """Write a dashboard for Grafana: what is wrong now, or what became of the nights.

    It is JSON to import, or to provision from a file; the suite has it in bin/grafana. Grafana asks
    for the data source.

    Examples:

        fabricheck dashboard mpi-benchmark-dashboard.json

        fabricheck dashboard --nights fabric-nights-dashboard.json

        fabricheck dashboard | jq .uid
    """
    name = "fabric-nights" if nights else "mpi-benchmark"
    board = resources.files("fabricheck.monitor").joinpath(f"{name}-dashboard.json")
    write_whole(file, board.read_text())
