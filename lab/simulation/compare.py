"""How often ``fabricheck compare`` is right: on sessions of which it is known what differs."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import polars as pl
import typer

from fabricheck.acceptance.answers import Scope
from fabricheck.acceptance.side_by_side import WHOLE, side_by_side
from fabricheck.history.store import History
from fabricheck.trend.robust import Array
from simulation.acceptance import SERIES, Campaign, as_values
from simulation.nights import World
from simulation.noise import RECORDED, read_noise
from simulation.power import Rate
from simulation.tables import JsonOption, Row, SeedOption, share, show
from simulation.worlds import WORLDS

NOISES: Final = {
    "2 %, normal": WORLDS["normal"],
    "5 %, normal": World(recorded=False, spread=0.05),
    "2 %, heavy tails (Student's t, 3)": WORLDS["tails"],
    "2 %, and 5 % of values 1.3 times as slow": WORLDS["outliers"],
    "2 %, recorded": WORLDS["recorded"],
}
SESSIONS: Final = (3, 5, 10, 20)
CHANGE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Sides:
    """Sessions with two sides.

    Attributes:
        sessions: how many.
        world: the noise of each value.
        paired: each session has both sides; else each has one.
        common: of what is common to all values of a session, the spread.
        of_side: of what is common to all values of one side of a session, the spread.
    """

    sessions: int
    world: World
    paired: bool = True
    common: float = 0.05
    of_side: float = 0.0

    def values(self, noise: Sequence[Array], seed: int, changed: int) -> pl.DataFrame:
        """What they measured; of so many series B is slower by 10 %."""
        campaign = Campaign(self.sessions, CHANGE, changed, self.world)
        found = as_values(campaign.made(noise, SERIES, seed), campaign)
        generator = np.random.default_rng([seed, 1])
        night = pl.col("session").str.strip_prefix("night-").cast(pl.Int64)
        session = night // 2 if self.paired else night
        effects = {
            "common": self.common * generator.standard_normal(2 * self.sessions),
            "of_side": self.of_side * generator.standard_normal(2 * self.sessions),
        }
        found = found.with_columns(
            night.alias("night"),
            session.alias("number"),
            pl.format("session-{}", session).alias("session"),
        )
        common = pl.col("number").replace_strict(dict(enumerate(effects["common"])))
        of_side = pl.col("night").replace_strict(dict(enumerate(effects["of_side"])))
        return found.with_columns(pl.col("value") * (common + of_side).exp())


def recorded_rounds(pairs: int, seed: int, slower: float = 0.0) -> Iterator[pl.DataFrame]:
    """Rounds that were measured, in their order: of each two that follow one is A, by lot.

    Args:
        pairs: pairs of rounds in each of the frames.
        seed: of the lots.
        slower: by how much B is made slower.
    """
    with tempfile.TemporaryDirectory() as directory, History.open(Path(directory)) as history:
        history.refresh(perflogs=[RECORDED])
        values = history.values(named=True).collect()
    rounds = values.group_by("session").agg(pl.col("time").min()).sort("time", "session")
    generator = np.random.default_rng(seed)
    for start in range(0, len(rounds) - 2 * pairs + 1, 2 * pairs):
        part = rounds["session"][start : start + 2 * pairs]
        lots = generator.permuted(np.tile(("before", "after"), (pairs, 1)), axis=1).ravel()
        numbers = [f"pair-{place // 2}" for place in range(2 * pairs)]
        told = pl.DataFrame({"session": part, "side": lots, "pair": numbers})
        found = values.join(told, on="session").drop("session").rename({"pair": "session"})
        after = pl.col("side") == "after"
        factor = pl.when(pl.col("unit") == "us").then(1 + slower).otherwise(1 / (1 + slower))
        changed = pl.when(after).then(factor * pl.col("value")).otherwise("value")
        yield found.with_columns(changed.alias("value"))


def _said(values: pl.DataFrame) -> tuple[bool, list[bool]]:
    """Whether the whole differs, and each of its series."""
    found = side_by_side(values, {})["ratios"]
    differs = [(row["scope"], row["says"] in ("B worse", "B better", "differs")) for row in found]
    whole = any(told for scope, told in differs if scope == WHOLE)
    return whole, [told for scope, told in differs if scope == Scope.SERIES]


def _row(same: list[pl.DataFrame], slower: list[pl.DataFrame]) -> Row:
    quiet, found = [_said(each) for each in same], [_said(each) for each in slower]
    return {
        "comparisons, series": f"{len(quiet)}, {sum(len(series) for _, series in quiet)}",
        "A = A: the whole differs": _share([whole for whole, _ in quiet]),
        "A = A: series that differ": _share([each for _, series in quiet for each in series]),
        "10 %: the whole differs": _share([whole for whole, _ in found]),
        "10 %: series that differ": _share([each for _, series in found for each in series]),
    }


def _share(told: list[bool]) -> str:
    return share(Rate(sum(told), len(told)))


def _simulated(noise: Sequence[Array], rounds: int, seed: int, **how: Any) -> Iterator[Row]:
    for words, world in NOISES.items():
        for sessions in SESSIONS:
            sides = Sides(sessions, world, **how)
            frames = [
                [sides.values(noise, seed + number, changed) for number in range(rounds)]
                for changed in (0, SERIES)
            ]
            yield {"noise": words, "sessions": sessions, **_row(frames[0], frames[1])}


def _rounds(seed: int, orders: int) -> Iterator[Row]:
    for pairs in SESSIONS:
        frames = [
            [each for n in range(orders) for each in recorded_rounds(pairs, seed + n, slower)]
            for slower in (0.0, CHANGE)
        ]
        yield {"pairs of rounds": pairs, **_row(frames[0], frames[1])}


def compare(
    *,
    rounds: Annotated[int, typer.Option(min=1, help="Comparisons for each figure.")] = 20,
    seed: SeedOption = 20261124,
    machine: JsonOption = False,
) -> None:
    """Measure how often "fabricheck compare" is right, where it is known what differs.

    Prints the tables of docs/explanation/acceptance-errors.md. The method was chosen on other
    seeds.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate compare --rounds 5
    """
    noise = read_noise()
    tables = [
        ("sessions with both sides", _simulated(noise, rounds, seed)),
        ("sessions of one side each", _simulated(noise, rounds, seed, paired=False, common=0.0)),
        (
            "sessions with both sides, where 3 % is common to a side of a session",
            _simulated(noise, rounds, seed, of_side=0.03),
        ),
        ("rounds that were measured, in their order", _rounds(seed, rounds)),
    ]
    show({"rounds": rounds, "seed": seed}, tables, machine=machine)
