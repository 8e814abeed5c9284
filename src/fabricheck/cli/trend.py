"""``fabricheck trend``: what changed in the history, since when, by how much, and where."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fabricheck.cli.console import open_console
from fabricheck.cli.options import JsonOption, Where, gathered, moment
from fabricheck.cli.output import picked, write_json
from fabricheck.errors import FabricheckError

if TYPE_CHECKING:
    from fabricheck.trend.attribution import Difference
    from fabricheck.trend.detect import Trend
    from fabricheck.trend.events import Event


@gathered
def trend(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Show what changed from this day or time on.",
            show_default="30 days before the newest value, and what is open",
        ),
    ] = None,
    system: Annotated[
        list[str] | None, typer.Option(help="Only this system; may be repeated.", metavar="NAME")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every event.")] = False,
    where: Where,
    machine: JsonOption = False,
) -> None:
    """Show what changed: events first, then what was judged.

    Each event comes with what differs in provenance across it, most telling first. Then come nodes
    with which jobs are slower than without them (docs/how-to/localisation.md).

    Reads the history: "fabricheck history refresh" brings it up to date. The method, its settings
    and its measured power are in docs/explanation/detection.md.

    A regression is new for a week, and open until it is accepted (docs/explanation/detection.md)
    or has recovered.

    Exit code 1: a regression is new or open, a node is slow, or something comes and goes. 0:
    otherwise. 2: bad input.

    Examples:

        fabricheck trend

        fabricheck trend --since 2026-11-01 --system testbed --all

        fabricheck trend --json | jq '.events[] | select(.state == "new") | .differences[0]'
    """
    # They take a second to import, which the other commands need not wait for.
    import numpy as np

    from fabricheck.history.selection import Selection
    from fabricheck.history.store import History
    from fabricheck.localise import nodes
    from fabricheck.record.entries import NIGHT
    from fabricheck.trend import trend_text
    from fabricheck.trend.accepted import read_accepted
    from fabricheck.trend.attribution import around, attribute
    from fabricheck.trend.detect import analyse
    from fabricheck.trend.settings import read_settings

    start = moment(since)
    accepted = read_accepted(where.references)
    fields: dict[str, tuple[str | int, ...]] = {"system": tuple(system)} if system else {}
    with History.open_to_read(where.store) as history:
        series = list(history.series(Selection(fields)))
        systems = sorted({each.key.system for each in series})
        settings = read_settings(where.sites, systems)
        found = analyse(series, settings, accepted)
        if found.newest is None:
            raise FabricheckError(
                f"FC2535 expected series{' of ' + ', '.join(system) if system else ''} in the "
                f"history {where.store}, found none: read the record first with fabricheck history "
                "refresh"
            )
        events = found.recent()
        if start is not None:
            first = np.datetime64(start.astimezone(UTC).replace(tzinfo=None), "s")
            events = [each for each in found.events if each.since >= first]
        sessions = [each for each in history.sessions() if not system or each.system in system]
        night = max((each.time for each in sessions if each.kind == NIGHT), default="")
        provenance = history.provenance(around(events, Selection(fields)))
        of_nodes = [nodes.node_trend(history, name, found.newest) for name in systems]
    differences = [attribute(event, series, provenance) for event in events]
    if machine:
        data = _as_json(found, events, differences)
        data["night"] = night or None
        data["nodes"] = [nodes.as_json(each) for each in of_nodes]
        write_json(data)
    else:
        console = open_console()
        trend_text.show(found, events, differences, console, every=every, night=night)
        for line in (line for each in of_nodes for line in nodes.words(each)):
            console.print(Text(line), soft_wrap=True)
    slow = any(each.accuses for each in of_nodes)
    raise typer.Exit(max(found.exit_code, int(slow)))


def _as_json(
    trend: "Trend", events: Sequence["Event"], differences: Sequence[Sequence["Difference"]]
) -> dict[str, Any]:
    return {
        **picked(trend, "exit_code series judged short silent lost"),
        "newest": None if trend.newest is None else f"{trend.newest}Z",
        "visible": [{"key": asdict(key), "change": each} for key, each in trend.visible.items()],
        "events": [_event(*each) for each in zip(events, differences, strict=True)],
    }


def _event(event: "Event", differences: Sequence["Difference"]) -> dict[str, Any]:
    return {
        **picked(event, "system kind state confidence alike"),
        "since": f"{event.since}Z",
        "shared": {name: list(values) for name, values in event.shared.items()},
        "differences": [
            {
                **picked(each, "field before after where score changed unchanged"),
                "since": f"{each.since}Z",
                "explained": len(each.explained),
                "contradicted": len(each.contradicted),
            }
            for each in differences
        ],
        "changes": [
            {
                **picked(each, "kind state detector session before after effect p q"),
                "key": asdict(each.key),
                "since": f"{each.since}Z",
                "nights": len(each.series) - each.index,
                "interval": None if each.low is None else sorted((each.low, each.high or 0.0)),
            }
            for each in event.changes
        ],
    }
