"""Simulated campaigns for tests."""

import numpy as np
import polars as pl

from fabricheck.acceptance.accept import accept
from fabricheck.acceptance.answers import Acceptance, Answer, Question, Scope
from fabricheck.acceptance.pairs import CASE
from fabricheck.acceptance.settings import Settings
from fabricheck.history.provenance import Provenance
from fabricheck.trend.robust import Array
from simulation.acceptance import NOTHING_KNOWN, Campaign, as_values

ONE_CASE = 12
NO_NOISE = [np.zeros(1)]


def values(campaign: Campaign, count: int = ONE_CASE, seed: int = 1) -> pl.DataFrame:
    """What a campaign measured."""
    return as_values(campaign.made(NO_NOISE, count, seed), campaign)


def accepted(campaign: Campaign, count: int = ONE_CASE, seed: int = 1) -> Acceptance:
    """What is said to a campaign."""
    return judged(values(campaign, count, seed))


def judged(frame: pl.DataFrame, provenance: Provenance | None = None) -> Acceptance:
    """What is said to values."""
    return accept(frame, Settings(), provenance or Provenance(), NOTHING_KNOWN)


def question(after: Array, before: Array | None = None, **changes: object) -> Question:
    """A question about one series; before the change the runs hardly differ."""
    if before is None:
        before = np.linspace(-0.01, 0.01, len(after))
    fields = dict.fromkeys(CASE, "x")
    given = {"scope": Scope.SERIES, "fields": fields, "margin": 0.05}
    runs = {"runs_before": before, "runs_after": after}
    return Question(**{**given, **runs, **changes})  # type: ignore[arg-type]


def worst(answers: list[Answer]) -> Answer:
    """The answer with the greatest shift."""
    return max(answers, key=lambda each: each.shift or 0)
