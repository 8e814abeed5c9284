"""Tonight's alarms alone: of a level, of scatter, and of series that share a cause.

``power`` judges whole histories, change points too, each series as if alone; here many more series
are judged at once, as one system, and share their memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np
import typer

from fabricheck.history.series import Series
from fabricheck.trend import spread, window
from fabricheck.trend.detect import analyse
from fabricheck.trend.events import Detector, Event
from fabricheck.trend.robust import Array, Flags, Rows, align
from fabricheck.trend.settings import Settings
from simulation.equal import Raised, by_halves, found, optimal
from simulation.nights import World, latencies, quiet
from simulation.noise import read_noise
from simulation.power import Rate, until
from simulation.rivals import otava_at
from simulation.tables import JsonOption, OtavaOption, Row, SeedOption, per_thousand, share, show
from simulation.worlds import WORDS, WORLDS

_NOISES = ("normal", "tails", "missing", "modes", "outliers", "memory", "recorded", "drift")
_HISTORY, _SIZE = 60, 0.05
_QUIET = range(_HISTORY + 8, _HISTORY + 32, 6)
_SCATTER, _SCATTER_NIGHTS = 2.0, (10, 15, 20)
_GROUPS, _MEMBERS = 8, 20
_CAUSES = ((0.015, 20), (0.03, 20), (0.03, 5))
_AFTER = 5


def alarms(
    *,
    count: Annotated[int, typer.Option(min=50, help="Series for each figure.")] = 1000,
    rounds: Annotated[int, typer.Option(min=0, help="Fleets of 160 series for each cause.")] = 40,
    with_otava: OtavaOption = None,
    seed: SeedOption = 20261124,
    machine: JsonOption = False,
) -> None:
    """Measure tonight's alarms: of levels, scatter, and series that share a cause.

    Prints tables of docs/explanation/detection.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate alarms --count 200 --rounds 5

        lab/simulate alarms --count 200 --rounds 0 --with-otava otava/bin/python
    """
    others: dict[str, Raised] = {"PELT": optimal, "BINSEG": by_halves}
    if with_otava is not None:
        others["Apache Otava"] = partial(otava_at, with_otava)
    tables = [
        ("steps of 5 %, and quiet nights", _levels(count, seed)),
        (
            "others, with one false alarm in 1000 series and nights",
            _others(count // 2, others, seed),
        ),
        ("scatter twice as large", _scatters(count, seed)),
    ]
    if rounds:
        tables.append(("series that share a cause", _shared(rounds, seed)))
    show({"count": count, "rounds": rounds, "seed": seed}, tables, machine=machine)


def _levels(count: int, seed: int) -> Iterator[Row]:
    for name, still, moved in _steps(count, seed):
        fresh = sum(
            int(np.sum(_level(still[:, :night]) & ~_level(still[:, : night - 1])))
            for night in _QUIET
        )
        raised = [_level(moved[:, : _HISTORY + night]) for night in range(1, _AFTER + 1)]
        yield {
            "noise of 2 %": WORDS[name],
            "3 nights": _within(raised[:3]),
            "5 nights": _within(raised),
            "false alarms": per_thousand(Rate(fresh, 4 * count * len(_QUIET))),
        }


def _others(count: int, others: Mapping[str, Raised], seed: int) -> Iterator[Row]:
    for name, still, moved in _steps(count, seed):
        yield {
            "noise of 2 %": WORDS[name],
            **{
                words: share(found(detector, still, moved, _HISTORY, tuple(_QUIET)))
                for words, detector in others.items()
            },
        }


def _steps(count: int, seed: int) -> Iterator[tuple[str, Array, Array]]:
    """Each noise, series that stay, and series that step after the history."""
    noise = read_noise()
    for name in _NOISES:
        world, generator = WORLDS[name], np.random.default_rng(seed)
        still = _made(world, noise, 4 * count, max(_QUIET), generator)
        moved = _made(world, noise, count, _HISTORY + _AFTER, generator)
        moved[:, _HISTORY:] += np.log1p(_SIZE)
        yield name, still, moved


def _level(values: Array) -> Flags:
    settings, one = Settings(), np.ones(len(values), dtype=np.int8)
    nights = [np.flatnonzero(np.isfinite(row)) for row in values]
    matrix = align([row[there] for row, there in zip(values, nights, strict=True)])
    ages = align([(each[-1:] - each[-max(window.RECENT) :]).astype(float) for each in nights])
    return window.tonight(Rows(matrix, one > 0, one, ages), settings).p <= settings.alarm_p


def _scatters(count: int, seed: int) -> Iterator[Row]:
    noise, nights = read_noise(), max(_SCATTER_NIGHTS)
    for name in ("normal", "tails", "outliers", "memory", "recorded"):
        world, generator = WORLDS[name], np.random.default_rng(seed)
        still = _made(world, noise, 4 * count, max(_QUIET), generator)
        other = _made(world, noise, count, _HISTORY + nights, generator)
        other[:, _HISTORY:] *= _SCATTER
        fresh = sum(
            int(np.sum(_noisier(still[:, :night]) & ~_noisier(still[:, : night - 1])))
            for night in _QUIET
        )
        raised = [_noisier(other[:, : _HISTORY + night]) for night in range(4, nights + 1)]
        yield {
            "noise of 2 %": WORDS[name],
            **{f"{night} nights": _within(raised[: night - 3]) for night in _SCATTER_NIGHTS},
            "false alarms": per_thousand(Rate(fresh, 4 * count * len(_QUIET))),
        }


def _made(
    world: World, noise: Sequence[Array], count: int, nights: int, generator: np.random.Generator
) -> Array:
    values = np.array([quiet(world, noise, nights, generator) for _ in range(count)])
    values[generator.random(values.shape) < world.missing] = np.nan
    return values


def _noisier(values: Array) -> Flags:
    settings = Settings()
    p, _, ratio = spread.noisier(values, settings)
    return np.asarray((p <= settings.alarm_p) & (ratio >= settings.noisier_ratio))


def _within(found: Sequence[Flags]) -> str:
    return share(Rate(int(np.any(found, axis=0).sum()), len(found[0])))


def _shared(rounds: int, seed: int) -> Iterator[Row]:
    for size, moved in _CAUSES:
        shown = np.zeros((_AFTER, rounds), dtype=bool)
        whole = np.zeros((_AFTER, rounds), dtype=bool)
        others = 0
        for number in range(rounds):
            fleet = _fleet(size, moved, seed + 1000 * number)
            for night in range(_AFTER):
                events = analyse([until(each, _HISTORY + night + 1) for each in fleet], {}).events
                shown[night:, number] |= any(_members(each, "0") for each in events)
                whole[night:, number] |= any(
                    _members(each, "0", Detector.POOL) > _MEMBERS / 2 for each in events
                )
                others += sum(
                    _members(event, str(group), Detector.POOL) > 0
                    for event in events
                    for group in range(1, _GROUPS)
                )
        yield {
            "step": f"{100 * size:g} % of {moved} of {_MEMBERS}",
            **{f"shown in {n}": share(Rate(int(shown[n - 1].sum()), rounds)) for n in (1, 3, 5)},
            "the pool blamed, in 5": share(Rate(int(whole[-1].sum()), rounds)),
            "other pools, false": per_thousand(Rate(others, rounds * _AFTER * (_GROUPS - 1))),
        }


def _fleet(size: float, moved: int, seed: int) -> list[Series]:
    """Series of eight transports, of which some of the first step."""
    fleet = []
    for group in range(_GROUPS):
        made = latencies(
            WORLDS["normal"], None, (), nights=_HISTORY + _AFTER, count=_MEMBERS, seed=seed + group
        )
        for number, each in enumerate(made):
            key = replace(each.key, transport=str(group), benchmark=f"benchmark{number}")
            steps = group == 0 and number < moved
            factor = 1 + size * steps * (np.arange(len(each)) >= _HISTORY)
            fleet.append(Series(key, each.times, each.values * factor, each.sessions))
    return fleet


def _members(event: Event, transport: str, detector: Detector | None = None) -> int:
    return sum(
        change.key.transport == transport and detector in {None, change.detector}
        for change in event.changes
    )
