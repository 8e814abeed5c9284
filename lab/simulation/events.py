"""What an operator is shown: events of a whole fleet, with one cause and with none."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from fabricheck.history.series import Series
from fabricheck.trend.detect import analyse
from fabricheck.trend.events import Event, EventState
from fabricheck.trend.settings import Settings
from simulation.nights import Injected, Shape, latencies
from simulation.power import BEFORE, until
from simulation.tables import JsonOption, Row, SeedOption, show
from simulation.worlds import WORLDS

_SIZE = 0.05
_NOISES = ("normal", "outliers", "weekday", "missing", "memory", "tails", "modes")
_AFTER = (3, 5, 10, 20)
_SETTLED = (EventState.RECOVERED, EventState.ACCEPTED)


def events(
    *,
    series: Annotated[int, typer.Option(min=len(_NOISES), help="Number of series.")] = 10_000,
    nights: Annotated[int, typer.Option(min=1, help="Quiet nights that are watched.")] = 60,
    seed: SeedOption = 20261122,
    machine: JsonOption = False,
) -> None:
    """Count the events that "fabricheck trend" shows of a fleet, with one cause and with none.

    Prints the tables of docs/explanation/detection.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate events --series 1200 --nights 10
    """
    data = {"series": series, "nights": nights, "seed": seed}
    show(data, tables(series, nights, seed), machine=machine)


def tables(series: int, nights: int, seed: int) -> Iterator[tuple[str, Iterator[Row]]]:
    """Events of one step of the whole fleet, and of nights in which nothing changes."""
    yield f"one step of {100 * _SIZE:g} % in {series} series", _stepped(series, seed)
    yield f"nothing changes in {series} series", _quiet(series, nights, seed)


def _stepped(count: int, seed: int) -> Iterator[Row]:
    step = Injected(Shape.STEP, _SIZE, BEFORE)
    fleet = latencies(
        WORLDS["normal"], step, (), nights=BEFORE + max(_AFTER), count=count, seed=seed
    )
    for nights in _AFTER:
        shown = _shown([until(each, BEFORE + nights) for each in fleet])
        sizes = sorted((len(event.changes) for event in shown), reverse=True)
        yield {"nights after it": nights, "events": len(shown), "series of each": str(sizes)}


def _quiet(count: int, nights: int, seed: int) -> Iterator[Row]:
    fleet: list[Series] = []
    for number, name in enumerate(_NOISES):
        part = latencies(
            WORLDS[name],
            None,
            (),
            nights=BEFORE + nights,
            count=count // len(_NOISES),
            seed=seed + number,
        )
        fleet += [replace(each, key=replace(each.key, environ=name)) for each in part]
    known = _shown([until(each, BEFORE) for each in fleet])
    found = series = 0
    for night in range(BEFORE + 1, BEFORE + nights + 1):
        tonight = _shown([until(each, night) for each in fleet])
        before = {change.key for event in known for change in event.changes}
        fresh = [
            event for event in tonight if not before & {change.key for change in event.changes}
        ]
        found += len(fresh)
        series += sum(len(event.changes) for event in fresh)
        known = tonight
    yield {"nights": nights, "noise": ", ".join(_NOISES), "events": found, "their series": series}


def _shown(fleet: Sequence[Series]) -> list[Event]:
    trend = analyse(fleet, {"simulated": Settings()})
    return [event for event in trend.events if event.state not in _SETTLED]
