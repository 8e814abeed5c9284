"""What was critical in a first run that others disturbed a little, and good in its second.

Once, other work may be why. A cable that is slow now and then looks the same, night for night: what
comes back more often than elsewhere is named.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from fabricheck.history.frame import CASE
from fabricheck.judge.levels import Level

LEAST: Final = 3
"""Nights that must bear it out: two are what a busy week gives."""

WRONG: Final = 0.01
"""Largest probability that a system without such a fault shows any."""


@dataclass(frozen=True, slots=True)
class Returning:
    """A case or a node that is critical at first, again and again.

    Attributes:
        what: the case by its title, or the node.
        nights: sessions of it that were critical at first and good in the second run.
        of: all its sessions; of a node, one for each case and session.
        elsewhere: likewise of all others.
        of_others: likewise.
        since: the first of them.
        p: the probability of so many by chance, times the number of those that were asked.
    """

    what: str
    nights: int
    of: int
    elsewhere: int
    of_others: int
    since: np.datetime64
    p: float


def returning(cases: pl.DataFrame) -> list[Returning]:
    """The cases and nodes that were critical at first more often than the others, surest first.

    Fisher's exact test of each against all others, one-sided, with Bonferroni's correction for the
    number of cases and nodes.

    Args:
        cases: cases of one system as the history has them, all attempts.
    """
    first = (pl.col("gave") == Level.CRITICAL).any()
    # As words: Polars makes an Enum of members, which an imported case's empty level is not in.
    second = pl.col("level").is_in([Level.GOOD.value, Level.WARNING.value]).any()
    ran = cases.group_by(*CASE, "session").agg(
        (first & second).alias("returned"),
        pl.col("time").min(),
        pl.col("node_list").last().alias("nodes"),
    )
    if not ran["returned"].any():
        return []
    title = pl.concat_str("benchmark", "environ", "transport", separator=" ").str.strip_chars()
    rows = [
        ran.with_columns(
            pl.format("{} of {} nodes", title, "num_nodes").alias("what"),
            pl.struct(*CASE).rank("dense").alias("group"),
        ),
        ran.with_columns(pl.col("nodes").str.split(",").alias("what"))
        .explode("what", empty_as_null=False)
        .filter(pl.col("what") != "")
        .with_columns(pl.col("what").rank("dense").alias("group")),
    ]
    groups = [_counted(each) for each in rows]
    asked = sum(each.height for each in groups)
    found = [row for each in groups for row in _unlikely(each, ran, asked)]
    return sorted(found, key=lambda each: (each.p, each.what))


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("group").agg(
        pl.col("what").first(),
        pl.len().alias("of"),
        pl.col("returned").sum().alias("nights"),
        pl.col("time").filter(pl.col("returned")).min().alias("since"),
    )


def _unlikely(groups: pl.DataFrame, ran: pl.DataFrame, asked: int) -> Iterator[Returning]:
    # It takes a second to import, which the other commands need not wait for.
    from scipy.stats import hypergeom

    everywhere, returned = ran.height, int(ran["returned"].sum())
    for what, of, nights, since in (
        groups.filter(pl.col("nights") >= LEAST).select("what", "of", "nights", "since").iter_rows()
    ):
        p = min(1.0, asked * float(hypergeom.sf(nights - 1, everywhere, returned, of)))
        if p <= WRONG:
            others = returned - nights, everywhere - of
            yield Returning(
                what, nights, of, *others, np.datetime64(since.replace(tzinfo=None), "s"), p
            )
