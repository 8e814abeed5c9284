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
) -> None:
    """Write the dashboard for Grafana: verdict, latency, congestion and links.

    It is JSON to import, or to provision from a file; the suite has it in bin/grafana. Grafana asks
    for the data source.

    Examples:

        fabricheck dashboard mpi-benchmark-dashboard.json

        fabricheck dashboard | jq .uid
    """
    board = resources.files("fabricheck.monitor").joinpath("mpi-benchmark-dashboard.json")
    write_whole(file, board.read_text())
