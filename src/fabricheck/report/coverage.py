"""What the history has and the run has not: cases that were measured before, and lines."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fabricheck.record.sessions import STRESS
from fabricheck.report.history_view import HistoryView, Place, place_of, place_words
from fabricheck.report.run import Run
from fabricheck.trend.trend_text import moment

_RECENT = np.timedelta64(30, "D")
"""A case that nobody measured for longer is given up, not missing."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A case of earlier nights that the run has no value of, and when it was last measured."""

    case: str
    last: str
    nights: int
    why: str


def missing(run: Run, past: HistoryView) -> list[Missing]:
    """Cases of the last thirty days that the run did not measure, without those that may rest."""
    newest = past.trend.newest
    if newest is None:
        return []
    measured = {
        place_of(case)
        for case in run.cases
        if any(sample.value is not None for sample in case.samples)
    }
    listed = {_resting(each): f"{each['state']}: {each['why']}" for each in run.resting}
    listed |= {place_of(case): f"{case.status}: {'; '.join(case.causes)}" for case in run.cases}
    fine = measured | {_resting(each) for each in run.not_due}
    last: dict[Place, tuple[np.datetime64, int]] = {}
    for series in past.series:
        case = place_of(series.key)
        if series.key.check == STRESS:
            continue
        if case not in fine and len(series) and series.times[-1] >= newest - _RECENT:
            time, nights = last.get(case, (series.times[-1], 0))
            last[case] = (max(time, series.times[-1]), max(nights, len(series)))
    found = sorted(last.items(), key=lambda item: (item[1][0], item[0]))
    return [
        Missing(place_words(case), moment(time), nights, listed.get(case, "not part of this run"))
        for case, (time, nights) in found
    ]


def _resting(each: Mapping[str, str]) -> Place:
    where = each["system"], each["partition"], each["environ"]
    return *where, each["benchmark"], each["placement"]


def remarks(past: HistoryView) -> list[str]:
    """Sentences on what the history could not judge, and why."""
    trend = past.trend
    found = []
    if not past.holds_run:
        found.append(
            "This run is not in the history: what is said of the history ends before it. "
            "fabricheck history refresh reads it."
        )
    if trend.short:
        found.append(
            f"{trend.short} of {trend.series} series have too few nights for a verdict on a step; "
            "only a sudden change would be seen in them."
        )
    if trend.silent:
        found.append(f"{trend.silent} of {trend.series} series have been silent for too long.")
    if past.lines:
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(past.lines.items()))
        found.append(
            f"Lines of the record that were left out: {counts}. "
            "fabricheck history status names each."
        )
    return found
