"""How well a step could be found at all: by a detector that knows what none can know.

It knows the level, the distribution of the noise, and the size of the step, and looks only for the
night. Page's cumulative sum of the likelihood ratios (1954) is best for the worst mean delay
(Moustakides 1986), which is another question than what is found within five nights; there the sum
over the last five nights finds more. Neither is a bound that none can beat.

A pool is the mean of twenty series that all step, judged as one. Of recorded noise the density is
that of each recorded series' own values, smoothed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import typer
from scipy import stats

from fabricheck.trend.robust import Array, Flags
from fabricheck.trend.window import level_and_scale
from simulation.nights import SECOND_MODE, World, quiet
from simulation.noise import read_noise
from simulation.power import QUIET_NIGHTS, Rate
from simulation.tables import JsonOption, Row, SeedOption, share, show
from simulation.worlds import WORDS, WORLDS

_NOISES = ("normal", "outliers", "missing", "tails", "modes", "memory")
_FALSE = (0.001, 0.002)
"""Rates of false alarms, per series and night."""

_TITLE = "steps found by who knows all but the night"
_HISTORY = 60
_HALVINGS = 40
_FAR, _LEAST = 10.0, 1e-3
"""Spreads around what was recorded, and the density of what was not, in values."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A step, and the nights within which it is to be found.

    Attributes:
        words: of the noise.
        world: the noise.
        size: of the step.
        nights: how many.
        recorded: values of a recorded series in its spreads, of which all nights are drawn.
    """

    words: str
    world: World
    size: float = 0.05
    nights: int = 5
    recorded: Array | None = None

    @property
    def step(self) -> float:
        """Of the logarithm."""
        return float(np.log1p(self.size))


_MEMBERS = 20
_POOL = _Question(
    f"normal noise, mean of {_MEMBERS} series",
    replace(WORLDS["normal"], spread=WORLDS["normal"].spread / _MEMBERS**0.5),
    0.015,
    3,
)


def best(
    *,
    count: Annotated[int, typer.Option(min=100, help="Series for each figure.")] = 10_000,
    seed: SeedOption = 20261122,
    machine: JsonOption = False,
) -> None:
    """Measure how often a step could be found by who knows all but its night.

    Prints a table of docs/explanation/detection.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate best --count 1000
    """
    show({"count": count, "seed": seed}, [(_TITLE, table(count, seed))], machine=machine)


def table(count: int, seed: int) -> Iterator[Row]:
    """The share of steps that are found in each noise, for each rate of false alarms."""
    asked = [[_Question(WORDS[name], WORLDS[name])] for name in _NOISES]
    one, noise = _Question(WORDS["recorded"], WORLDS["recorded"]), read_noise()
    for parts in (*asked, [_POOL], [replace(one, recorded=each) for each in noise]):
        known, learnt = zip(
            *(
                _sides(each, -(-count // len(parts)), seed + place)
                for place, each in enumerate(parts)
            ),
            strict=True,
        )
        yield {
            "noise of 2 %": parts[0].words,
            "step": f"{100 * parts[0].size:g} % in {parts[0].nights} nights",
            **{f"at {1000 * rate:g} false per 1000": share(_best(known, rate)) for rate in _FALSE},
            f"level and spread from {_HISTORY} nights": share(_best(learnt, _FALSE[0])),
        }


_Sums = tuple[Array, Array]


def _sides(asked: _Question, count: int, seed: int) -> tuple[_Sums, _Sums]:
    """Sums of quiet series and of those that step: of who knows all, and who learns the level."""
    false, found = _made(asked, count, seed)
    known, learnt = (
        tuple(_sums(each, asked)[:, _HISTORY - 1 :] for each in both)
        for both in ((false, found), (_learnt(false, false), _learnt(found, false)))
    )
    return (known[0], known[1]), (learnt[0], learnt[1])


def _made(asked: _Question, count: int, seed: int) -> tuple[Array, Array]:
    """Quiet series, and series that step after the history."""
    generator = np.random.default_rng(seed)
    noise = () if asked.recorded is None else (asked.recorded,)
    false, found = (
        np.array([quiet(asked.world, noise, length, generator) for _ in range(count)])
        for length in (_HISTORY + QUIET_NIGHTS, _HISTORY + asked.nights)
    )
    found[:, _HISTORY:] += asked.step
    for values in (false, found):
        values[generator.random(values.shape) < asked.world.missing] = np.nan
    return false, found


def _learnt(values: Array, like: Array) -> Array:
    """The values as they look to who takes level and spread from the history, as trend does."""
    whole, one = like.reshape(1, -1), np.ones(1, dtype=bool)
    (middle,), (spread,) = level_and_scale(whole, one)
    level, scale = level_and_scale(values[:, :_HISTORY], np.repeat(one, len(values)))
    return np.asarray(middle + (values - level[:, None]) * (spread / scale)[:, None])


def _best(sides: Sequence[_Sums], rate: float) -> Rate:
    quiet_sums, sums = (np.concatenate(each) for each in zip(*sides, strict=True))
    bound = _bound(quiet_sums, rate)
    return Rate(int((sums[:, 1:] >= bound).any(axis=1).sum()), len(sums))


def _bound(sums: Array, rate: float) -> float:
    """The bound that so many quiet nights pass anew."""

    def fresh(bound: float) -> float:
        raised: Flags = sums >= bound
        return float(np.mean(raised[:, 1:] & ~raised[:, :-1]))

    low, high = 0.0, 30.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fresh(middle) > rate else (low, middle)
    return high


def _sums(values: Array, asked: _Question) -> Array:
    """Sum of the log-likelihood ratios of the nights asked for that end with each night."""
    world, nights = asked.world, asked.nights
    first, later = values, asked.step
    if world.memory:
        # What a night adds to what the last one let expect; of the step the last one knows a share.
        first = values.copy()
        first[:, 1:] -= world.memory * values[:, :-1]
        later = asked.step * (1 - world.memory)
    density = _density(asked)
    there = np.isfinite(first)
    first = np.where(there, first, 0.0)
    begins, goes_on = (
        there * (density(first - shift) - density(first)) for shift in (asked.step, later)
    )
    sums = np.cumsum(np.pad(goes_on, ((0, 0), (nights, 0))), axis=1)
    # The first of them is that of the step.
    before = np.pad(begins - goes_on, ((0, 0), (nights - 1, 0)))[:, : values.shape[1]]
    return np.asarray(sums[:, nights:] - sums[:, :-nights] + before)


def _density(asked: _Question) -> Callable[[Array], Array]:
    """Logarithm of the density of a night's noise, but for a constant."""
    world = asked.world
    if asked.recorded is not None:
        # Kernels of the width that Silverman (1986) gives for normal noise, whose spread is 1 here.
        width = 0.9 * len(asked.recorded) ** -0.2
        ends = asked.recorded.min() - _FAR, asked.recorded.max() + _FAR
        grid = np.arange(*ends, width / 4)
        logs = np.log(stats.norm.pdf((grid[:, None] - asked.recorded) / width).sum(axis=1) + _LEAST)
        return lambda x: np.interp(x / world.spread, grid, logs)
    if world.tails:
        robust = stats.t.ppf(0.75, world.tails) / stats.norm.ppf(0.75)
        return lambda x: np.asarray(stats.t.logpdf(x * robust / world.spread, world.tails))
    spread = world.spread * np.sqrt(1 - world.memory**2)
    share, other = world.outliers, np.log(world.outlier)
    if world.modes:
        share, other = SECOND_MODE, world.modes
    return lambda x: np.logaddexp(
        np.log1p(-share) + stats.norm.logpdf(x, 0, spread),
        np.log(max(share, 1e-300)) + stats.norm.logpdf(x, other, spread),
    )
