"""Histories whose changes are known: recorded noise, the troubles of real nights, and a change.

All values follow from the seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from fabricheck.history.series import Series, SeriesKey
from fabricheck.trend.robust import Array

FIRST_NIGHT = np.datetime64("2020-01-01T03:00:00", "s")
DAY = np.timedelta64(86400, "s")
SIZES = (8, 64, 512, 4096, 32768, 262144)
STATISTICS = ("p50", "p99")

_LEVELS = (2.0, 200.0)
_RAMP_NIGHTS = 10
SECOND_MODE = 0.5
_NODE_SHARE = 0.25


class Shape(StrEnum):
    """What changes, and how."""

    NONE = "none"
    STEP = "step"
    RAMP = "ramp"
    BIMODAL = "bimodal"
    TAIL = "tail"
    ONE_SIZE = "one size"
    ONE_NODE = "one node"


@dataclass(frozen=True, slots=True)
class World:
    """Nights in which nothing changes but what always does.

    Attributes:
        spread: robust standard deviation of the noise, relative.
        recorded: noise from recorded series; else normal.
        outliers: share of nights with an outlier.
        outlier: factor of an outlier for the worse.
        drift: random walk of the level, relative standard deviation of a night's step.
        weekday: by how much weekends are better.
        missing: share of nights without value.
        modes: distance of two modes, each in half of the nights; ``spread`` is that within one.
        tails: degrees of freedom of Student's distribution, scaled to the spread; 0 is normal.
        memory: correlation of the noise from one night to the next, AR(1).
    """

    spread: float = 0.02
    recorded: bool = True
    outliers: float = 0.0
    outlier: float = 1.3
    drift: float = 0.0
    weekday: float = 0.0
    missing: float = 0.0
    modes: float = 0.0
    tails: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True)
class Injected:
    """A change.

    Attributes:
        shape: what changes.
        size: relative change for the worse.
        night: the first night after it.
    """

    shape: Shape
    size: float
    night: int


def bootstrap(noise: Sequence[Array], nights: int, generator: np.random.Generator) -> Array:
    """Noise of so many nights from one recorded series, drawn by the generator.

    Each night is drawn by itself: recorded rounds are seconds apart, and a burst of minutes that
    was kept together would stand for a week.
    """
    source = noise[int(generator.integers(len(noise)))]
    return np.asarray(generator.choice(source, nights))


def latencies(
    world: World,
    change: Injected | None,
    noise: Sequence[Array],
    *,
    nights: int,
    count: int,
    seed: int,
) -> list[Series]:
    """Simulated series of latencies, in which higher is worse.

    Series number ``i`` has message size ``i modulo 6`` and statistic ``i // 6 modulo 2`` of the
    benchmark ``i // 12``, so that a change of one size or of the tail has unchanged neighbours.

    Args:
        world: what happens without the change.
        change: the change, ``None`` for none.
        noise: recorded noise.
        nights: length of the history.
        count: number of series.
        seed: of the generator.
    """
    generator = np.random.default_rng(seed)
    times = FIRST_NIGHT + np.arange(nights) * DAY
    sessions = np.array([f"night-{night}" for night in range(nights)])
    found = []
    for number in range(count):
        size = SIZES[number % len(SIZES)]
        statistic = STATISTICS[number // len(SIZES) % len(STATISTICS)]
        values = quiet(world, noise, nights, generator)
        values += _changed(change, size, statistic, nights, generator)
        level = np.exp(generator.uniform(*np.log(_LEVELS)))
        there = generator.random(nights) >= world.missing
        key = SeriesKey(
            system="simulated",
            partition="fabric",
            environ="openmpi",
            check="MpiPointToPoint",
            benchmark=f"latency{number // (len(SIZES) * len(STATISTICS))}",
            transport="rc",
            num_nodes=2,
            ranks=2,
            program="mpi_probe",
            metric="latency",
            statistic=statistic,
            size=size,
            unit="us",
        )
        found.append(Series(key, times[there], level * np.exp(values[there]), sessions[there]))
    return found


def quiet(
    world: World, noise: Sequence[Array], nights: int, generator: np.random.Generator
) -> Array:
    """Logarithms of a series without change."""
    if world.recorded:
        standard = bootstrap(noise, nights, generator)
    elif world.tails:
        robust = stats.t.ppf(0.75, world.tails) / stats.norm.ppf(0.75)
        standard = generator.standard_t(world.tails, nights) / robust
    else:
        standard = generator.standard_normal(nights)
    if world.memory:
        standard = _remembering(standard, world.memory)
    values = world.spread * standard
    if world.modes:
        values += world.modes * (generator.random(nights) < SECOND_MODE)
    values += np.log(world.outlier) * (generator.random(nights) < world.outliers)
    values += np.cumsum(world.drift * generator.standard_normal(nights))
    weekend = (np.arange(nights) + generator.integers(7)) % 7 >= 5
    return np.asarray(values - world.weekday * weekend)


def _remembering(innovations: Array, memory: float) -> Array:
    """AR(1) of the same variance."""
    found: Array = innovations * np.sqrt(1 - memory**2)
    found[0] = innovations[0]
    for night in range(1, len(found)):
        found[night] += memory * found[night - 1]
    return found


def _changed(
    change: Injected | None,
    size: int,
    statistic: str,
    nights: int,
    generator: np.random.Generator,
) -> Array:
    """What the change adds to the logarithms of a series."""
    since = np.arange(nights) - (change.night if change else nights)
    after = since >= 0
    shape = change.shape if change else Shape.NONE
    if (shape is Shape.TAIL and statistic == "p50") or (
        shape is Shape.ONE_SIZE and size != SIZES[-1]
    ):
        shape = Shape.NONE
    share = {Shape.NONE: 0.0, Shape.BIMODAL: SECOND_MODE, Shape.ONE_NODE: _NODE_SHARE}
    factor = after * (generator.random(nights) < share.get(shape, 1.0))
    if shape is Shape.RAMP:
        factor = factor * np.minimum((since + 1) / _RAMP_NIGHTS, 1.0)
    return np.asarray(np.log1p(change.size if change else 0.0) * factor)


def is_changed(change: Injected, series: Series) -> bool:
    """Whether a simulated series has the change."""
    if change.shape is Shape.TAIL:
        return series.key.statistic != "p50"
    if change.shape is Shape.ONE_SIZE:
        return series.key.size == SIZES[-1]
    return change.shape is not Shape.NONE
