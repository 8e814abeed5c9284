"""An acceptance from the history's values."""

from itertools import pairwise
from typing import Final

import polars as pl

from fabricheck.acceptance import judging, questions
from fabricheck.acceptance.model import Acceptance, Difference
from fabricheck.acceptance.pairs import SIDES, compared
from fabricheck.acceptance.settings import Settings
from fabricheck.errors import FabricheckError

_DIFFERENCES: Final = ("mpi_version", "ucx_version", "program_version", "commit", "node_list")


def accept(values: pl.DataFrame, settings: Settings) -> Acceptance:
    """Compare the two sides.

    Args:
        values: as ``sides.read_sides`` gives them.
        settings: margins and error rate.

    Raises:
        FabricheckError: if no value belongs to a run, or none can be compared.
    """
    named = values.filter(pl.col("session") != "")
    to_compare = compared(named, settings)
    if to_compare.is_empty():
        raise FabricheckError(
            "expected values greater than 0 that name their run in both selections, found none: "
            "select runs with latency, bandwidth or message rate"
        )
    answers = judging.judge(questions.questions(named, to_compare), settings)
    missing = questions.missing(named)
    verdict = judging.verdict(answers, complete=not missing)
    runs = named.group_by("side", "session").agg(pl.col("time").min()).sort("time", "session")
    return Acceptance(
        verdict,
        answers,
        missing,
        [each for name in _DIFFERENCES if (each := _difference(named, name))],
        {side: runs.filter(pl.col("side") == side)["session"].to_list() for side in SIDES},
        _interleaved(runs["side"].to_list()),
        {
            "without run": len(values) - len(named),
            "not compared": named["value"].drop_nulls().len() - len(to_compare),
        },
    )


def _difference(values: pl.DataFrame, name: str) -> Difference | None:
    """Values of a field that only one side has."""
    before, after = (
        set(values.filter(pl.col("side") == side)[name].drop_nulls()) - {""} for side in SIDES
    )
    if before == after:
        return None
    return Difference(name, tuple(sorted(before)), tuple(sorted(after)))


def _interleaved(sides: list[str]) -> bool:
    """Whether the sides take turns at least every second run, as in A-B-B-A."""
    turns = sum(first != second for first, second in pairwise(sides))
    return turns >= len(sides) // 2
