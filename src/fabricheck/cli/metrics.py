"""``fabricheck metrics``: metrics as a file, for what asks no exporter."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricheck.cli.options import STORE, SelectArgument, SinceOption, StoreOption, UntilOption
from fabricheck.errors import FabricheckError
from fabricheck.provenance import home
from fabricheck.report.files import write_whole

if TYPE_CHECKING:
    from fabricheck.monitor.refresh import Readable

app = typer.Typer(no_args_is_help=True)

PortsOption = Annotated[
    bool, typer.Option("--ports", help="The RDMA ports of this node, instead of the last run.")
]
ReportsOption = Annotated[
    Path | None,
    typer.Option(
        help="Directory of run reports and nights; perflogs is beside it.",
        show_default="the suite's reports",
        metavar="DIR",
    ),
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps which ports there were; remove it to forget one.",
        show_default="~/.local/state/fabricheck/ports-NODE.json, or systemd's",
        metavar="FILE",
    ),
]
PartitionOption = Annotated[
    str | None,
    typer.Option(
        metavar="SYSTEM:PARTITION",
        help="What this node is in; the limits served with its ports are then those of the site.",
    ),
]


CollectOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only these metrics; * stands for any letters."),
]
SeedNamesOption = Annotated[
    bool,
    typer.Option(
        "--seed-names/--no-seed-names", help="Also by the names of the MPI AI cluster benchmark."
    ),
]


@app.command()
def write(
    file: Annotated[Path, typer.Argument(help="Where to write, such as DIR/fabricheck.prom.")],
    *,
    ports: PortsOption = False,
    reports: ReportsOption = None,
    state: StateOption = None,
    partition: PartitionOption = None,
    collect: CollectOption = None,
    seed_names: SeedNamesOption = True,
) -> None:
    """Write the metrics into a file, whole or not at all.

    The names are those of the exporter, without those about itself. Run it from a timer;
    node_textfile_mtime_seconds then shows its age.

    Examples:

        fabricheck metrics write /var/lib/node_exporter/fabricheck.prom

        fabricheck metrics write --ports /dev/stdout
    """
    from fabricheck.monitor.catalog import Sample, chosen
    from fabricheck.monitor.exposition import PLAIN, render

    names = chosen(collect or (), seed_names=seed_names)
    given = sources(ports, reports, state, partition, names=names)
    samples = [e for source in given for e in source.read() if isinstance(e, Sample)]
    write_whole(file, render(samples, names=names)[PLAIN].decode())


@app.command()
def script(
    file: Annotated[Path, typer.Argument(help="Where to write, such as fabricheck-ports.")],
    *,
    partition: PartitionOption = None,
) -> None:
    """Write a shell script that does "metrics write --ports" on nodes without Python.

    It needs sh, awk and grep, and ethtool for pauses. Names, counters and limits are those of this
    checkout: write it again after an update.

    Examples:

        fabricheck metrics script fabricheck-ports --partition SYSTEM:PARTITION

        sh fabricheck-ports /var/lib/node_exporter/fabricheck.prom
    """
    from fabricheck.monitor.ports import bands_of
    from fabricheck.monitor.ports import script as text

    write_whole(file, text(bands_of(partition)))


@app.command()
def backfill(
    file: Annotated[Path, typer.Argument(help="Where to write, such as history.om.")],
    select: SelectArgument = None,
    *,
    since: SinceOption = None,
    until: UntilOption = None,
    store: StoreOption = STORE,
) -> None:
    """Write the history as OpenMetrics with timestamps, for Prometheus and VictoriaMetrics to read.

    The latencies and bandwidths that the exporter serves of the last run, of every session; without
    those of a stress, which loads the fabric on purpose.

    Exit code 0: written. 2: bad input, or nothing to write.

    Examples:

        fabricheck metrics backfill history.om

        promtool tsdb create-blocks-from openmetrics history.om /var/lib/prometheus

        fabricheck metrics backfill /dev/stdout benchmark=allreduce --since 2026-11-01
    """
    # Polars takes a moment to import, which the exporter and the timer need not wait for.
    from fabricheck.cli.history import selected
    from fabricheck.monitor.exposition import lines
    from fabricheck.record.sessions import STRESS

    found = selected(store, select, since, until)
    text = [*lines(each for each in found if each.key.check != STRESS)]
    if len(text) == 1:
        raise FabricheckError(
            "FC2517 expected latencies or bandwidths that the exporter serves "
            "(docs/reference/metrics.md), found none among what was selected: select others"
        )
    write_whole(file, "\n".join(text) + "\n")


def sources(
    ports: bool,  # noqa: FBT001
    reports: Path | None,
    state: Path | None,
    partition: str | None,
    *,
    names: Collection[str],
    apart: bool = False,
) -> Sequence["Readable"]:
    """What is to be read.

    Args:
        ports: the ports of this node, instead of the last run.
        reports: directory of run reports and nights; the record is beside it.
        state: file of the ports that were seen.
        partition: what this node is in.
        names: families that are served.
        apart: whether run reports are parsed in a process of their own.

    Raises:
        FabricheckError: for options that contradict each other.
    """
    from fabricheck.monitor.apart import Apart, Parser
    from fabricheck.monitor.last_run import LastNight, LastRun, Schedule
    from fabricheck.monitor.ports import Defaults, Ports, bands_of, default_state
    from fabricheck.monitor.stress import Stress

    if reports if ports else state or partition:
        raise FabricheckError(
            "FC2518 expected --reports without --ports, and --state and --partition with it"
        )
    if ports:
        return [Ports(state or default_state(), bands_of(partition))]
    place = reports or home() / "reports"
    perflogs = place.resolve().parent / "perflogs"
    run, night = LastRun(perflogs), LastNight(place, perflogs)
    recorded: Sequence[Readable] = [run, night]
    if apart:
        parser = Parser(perflogs, names)
        recorded = [Apart(each, parser) for each in (run, night)]
    return [*recorded, Schedule(place), Stress(place), Defaults()]
