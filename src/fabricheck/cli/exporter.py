"""``fabricheck exporter``: metrics for Prometheus over HTTP."""

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from fabricheck.cli.metrics import PartitionOption, PortsOption, ReportsOption, StateOption, sources


def exporter(
    *,
    ports: PortsOption = False,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen.")
    ] = "127.0.0.1:9105",
    web_config: Annotated[
        Path | None, typer.Option(help="File with certificate and key, users and passwords.")
    ] = None,
    reports: ReportsOption = None,
    state: StateOption = None,
    partition: PartitionOption = None,
) -> None:
    """Serve metrics for Prometheus: the last run and night, or the ports of this node.

    /metrics has them (docs/reference/metrics.md), /health shows whether they are fresh. Each source
    is read every 5 s by a thread of its own; no scrape reads anything or starts anything.

    Anyone who can reach the address can read it, so it is this machine's alone unless --listen
    says otherwise. --web-config encrypts and asks for passwords, as Prometheus' own exporters do.
    systemd may pass a socket instead (bin/systemd).

    Examples:

        fabricheck exporter

        fabricheck exporter --ports --listen 10.0.0.7:9105 --partition SYSTEM:PARTITION

        curl http://127.0.0.1:9105/metrics
    """
    from fabricheck.monitor.refresh import Refresher
    from fabricheck.monitor.server import Server
    from fabricheck.monitor.web_config import WebConfig, read

    refresher = Refresher(sources(ports, reports, state, partition, apart=True))
    with Server(listen, refresher, read(web_config) if web_config else WebConfig()) as server:

        def end(_number: int, _frame: FrameType | None) -> None:
            # From the thread that serves, it would wait for itself.
            threading.Thread(target=server.shutdown).start()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        refresher.start()
        typer.echo(f"serving /metrics on port {server.server_address[1]}", err=True)
        server.serve_forever()
    refresher.stop()
