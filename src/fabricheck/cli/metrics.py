"""``fabricheck metrics``: metrics as a file, for node_exporter's textfile collector."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.report.files import write_whole

if TYPE_CHECKING:
    from fabricheck.monitor.refresh import Readable

app = typer.Typer(help="Metrics as a file, where no exporter may run.", no_args_is_help=True)

PortsOption = Annotated[
    bool, typer.Option("--ports", help="The RDMA ports of this node, instead of the last run.")
]
ReportsOption = Annotated[
    Path | None,
    typer.Option(help="Directory of run reports and nights.", show_default="the suite's reports"),
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps which ports there were; remove it to forget one.",
        show_default="~/.local/state/fabricheck/ports-NODE.json, or systemd's",
    ),
]


@app.callback()
def _group() -> None:
    """With a callback, a lone command keeps its name."""


@app.command()
def write(
    file: Annotated[Path, typer.Argument(help="Where to write, such as DIR/fabricheck.prom.")],
    *,
    ports: PortsOption = False,
    reports: ReportsOption = None,
    state: StateOption = None,
) -> None:
    """Write the metrics into a file, whole or not at all.

    The names are those of the exporter, without what it says of itself. Run it from a timer;
    node_textfile_mtime_seconds then tells how old it is.

    Examples:

        fabricheck metrics write /var/lib/node_exporter/fabricheck.prom

        fabricheck metrics write --ports /dev/stdout
    """
    from fabricheck.monitor.exposition import PLAIN, render  # noqa: PLC0415

    samples = [each for source in sources(ports, reports, state) for each in source.read()]
    write_whole(file, render(samples)[PLAIN].decode())


def sources(
    ports: bool,  # noqa: FBT001
    reports: Path | None,
    state: Path | None,
) -> Sequence["Readable"]:
    """What is to be read.

    Raises:
        FabricheckError: for options that contradict each other.
    """
    from fabricheck.monitor.last_run import LastRun  # noqa: PLC0415
    from fabricheck.monitor.ports import Ports, default_state  # noqa: PLC0415

    if reports if ports else state:
        raise FabricheckError("expected --reports without --ports, and --state with it")
    return [Ports(state or default_state())] if ports else [LastRun(reports or SUITE / "reports")]
