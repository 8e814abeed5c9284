"""``fabricheck coverage``: which node, and port, was measured when, and how that ended."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabricheck.cli.options import SITES, STORE, JsonOption, SitesOption, StoreOption
from fabricheck.cli.output import tell
from fabricheck.nodes.names import fold

if TYPE_CHECKING:
    from fabricheck.history.coverage import Coverage

_COLUMNS: Final = ("day", "nights", "layer", "transport", "level", "port")


def coverage(
    *,
    system: Annotated[
        str | None,
        typer.Option(
            help="The system.", show_default="the only one of the history", metavar="NAME"
        ),
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="Days for the first line.", metavar="DAYS")] = 7,
    sites: SitesOption = SITES,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """Show when each node and port was measured, by what, and whether good.

    Each layer and transport has a line for nodes alike, with the worst level of their last day;
    what was measured longest ago comes first. A node counts as measured by a case between nodes
    that was judged. What is untrusted or disturbed measured nothing, and PairHealth, which compares
    all idle nodes with each other, has a line and doesn't count.

    Reads the history: "fabricheck history refresh" brings it up to date.

    Exit code 1: a node waits longer than the site's "night: {nodes: {at_least_every: N}}" allows.
    0: none does, or the site sets no limit. 2: bad input.

    Examples:

        fabricheck coverage

        fabricheck coverage --system mycluster --days 14

        fabricheck coverage --system mycluster --json | jq '.never'
    """
    from fabricheck.errors import FabricheckError
    from fabricheck.history.coverage import coverage as covered
    from fabricheck.history.store import History
    from fabricheck.sites.night import KEY, NightSettings
    from fabricheck.trend.settings import read_section

    with History.open_to_read(store) as history:
        systems = history.systems()
        if system is None and len(systems) == 1:
            system = systems[0]
        if system not in systems:
            raise FabricheckError(
                f"FC3302 expected --system with a system of the history ({', '.join(systems)}), "
                f"found {system or 'none'}: name one, or bring the history up to date"
            )
        every = read_section(sites, [system], KEY, NightSettings)[system].nodes_every
        found = covered(history, system, every)
    since = f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"
    within = sum(day is not None and day >= since for day in found.last.values())
    first = f"{system}: {within} of {len(found.last)} nodes measured within {days} days"
    tell(_lines(found, first), {**asdict(found), "within": within, "days": days}, machine=machine)
    raise typer.Exit(1 if found.overdue else 0)


def _lines(found: "Coverage", first: str) -> Iterator[str]:
    from fabricheck.tables import in_columns

    yield f"{first}; never: {fold(found.never) if found.never else 'none'}"
    if not found.listed:
        yield "which nodes there are is unknown: no run of NodeHealth listed those of the scheduler"
    if found.at_least_every is not None:
        late = fold(found.overdue) if found.overdue else "none"
        busy = [node for node in found.overdue if node in found.busy]
        was_busy = f"; busy in the last night: {fold(busy)}" if busy else ""
        yield f"not for {found.at_least_every} nights or more, as the site wants: {late}{was_busy}"
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in found.seen:
        row = tuple("-" if each[name] == "" else str(each[name]) for name in _COLUMNS)
        alike.setdefault(row, []).append(each["node"])
    yield ""
    yield from in_columns(
        (*_COLUMNS, "nodes"), ((*row, fold(nodes)) for row, nodes in alike.items())
    )
