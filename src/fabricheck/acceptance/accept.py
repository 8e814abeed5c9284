"""An acceptance from the history's values."""

from dataclasses import replace
from itertools import pairwise

import polars as pl

from fabricheck.acceptance import judging, questions
from fabricheck.acceptance.differences import differences
from fabricheck.acceptance.model import Acceptance
from fabricheck.acceptance.pairs import IS_COMPARED, SIDES, compared
from fabricheck.acceptance.settings import Settings
from fabricheck.errors import FabricheckError
from fabricheck.history.provenance import Provenance


def accept(
    values: pl.DataFrame,
    settings: Settings,
    provenance: Provenance,
    spreads: pl.DataFrame,
    *,
    control: bool = False,
) -> Acceptance:
    """Compare the two sides.

    Args:
        values: as ``sides.read_sides`` gives them.
        settings: margins and error rate.
        provenance: what is known of their sessions.
        spreads: how the series scattered before, as ``sides.read_spreads`` gives it.
        control: nothing was changed between the sides, so that any difference is wrong.

    Raises:
        FabricheckError: if no value belongs to a run, or none can be compared.
    """
    named = values.filter(pl.col("session") != "")
    to_compare = compared(named, settings)
    if to_compare.is_empty():
        raise FabricheckError(
            "expected values greater than 0 that name their run in both selections, found none: "
            "select runs with times, bandwidths or message rates"
        )
    asked = questions.questions(named, to_compare, spreads)
    if control:
        asked = [replace(each, two_sided=each.failed is None) for each in asked]
    answers = judging.judge(asked, settings)
    missing = questions.missing(named)
    verdict = judging.verdict(answers, complete=not missing)
    runs = named.group_by("side", "session").agg(pl.col("time").min()).sort("time", "session")
    return Acceptance(
        verdict,
        answers,
        missing,
        differences(named, provenance),
        {side: runs.filter(pl.col("side") == side)["session"].to_list() for side in SIDES},
        _interleaved(runs["side"].to_list()),
        len(values) - len(named),
        _not_compared(named),
        control,
    )


def _not_compared(values: pl.DataFrame) -> dict[str, int]:
    """How many values of each metric are judged by their levels alone."""
    left = values.filter(pl.col("value").is_not_null(), ~IS_COMPARED)
    return dict(left.group_by("metric").len().sort("metric").iter_rows())


def _interleaved(sides: list[str]) -> bool:
    """Whether the sides take turns at least every second run, as in A-B-B-A."""
    turns = sum(first != second for first, second in pairwise(sides))
    return turns >= len(sides) // 2
