"""``fabricheck exporter``: metrics for Prometheus over HTTP."""

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from fabricheck.cli.metrics import (
    CollectOption,
    PartitionOption,
    PortsOption,
    ReportsOption,
    SeedNamesOption,
    StateOption,
    sources,
)


def exporter(
    *,
    ports: PortsOption = False,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen.")
    ] = "127.0.0.1:9105",
    web_config: Annotated[
        Path | None,
        typer.Option(help="File with certificate and key, users and passwords.", metavar="FILE"),
    ] = None,
    reports: ReportsOption = None,
    state: StateOption = None,
    partition: PartitionOption = None,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="Between two readings of a source.")
    ] = 5.0,
    collect: CollectOption = None,
    seed_names: SeedNamesOption = True,
) -> None:
    """Serve metrics for Prometheus: the last run and night, or the ports of this node.

    /metrics has them (docs/reference/metrics.md), /-/ready says whether they are fresh, /-/healthy
    answers as long as it runs. A thread reads each source every 5 s, and what is in the record a
    process of its own; no scrape reads anything or starts anything.

    Anyone who can reach the address can read it, so it is this machine's alone unless --listen
    says otherwise. --web-config encrypts and asks for passwords, as Prometheus' own exporters do.
    systemd may pass a socket instead (bin/systemd).

    Examples:

        fabricheck exporter

        fabricheck exporter --ports --listen 10.0.0.7:9105 --partition SYSTEM:PARTITION

        fabricheck exporter --no-seed-names --collect 'fabricheck_night_*'

        curl http://127.0.0.1:9105/metrics
    """
    from fabricheck.events import emit
    from fabricheck.monitor.catalog import chosen
    from fabricheck.monitor.refresh import Refresher
    from fabricheck.monitor.server import Server
    from fabricheck.monitor.web_config import WebConfig, read

    names = chosen(collect or (), seed_names=seed_names)
    given = sources(ports, reports, state, partition, names=names, apart=True)
    refresher = Refresher(given, interval, names)
    with Server(listen, refresher, read(web_config) if web_config else WebConfig()) as server:

        def end(_number: int, _frame: FrameType | None) -> None:
            # From the thread that serves, it would wait for itself.
            threading.Thread(target=server.shutdown).start()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        refresher.start()
        emit("exporter_serves", port=server.server_address[1])
        server.serve_forever()
    refresher.stop()
