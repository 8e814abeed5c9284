"""Steps that come with new references: recorded as accepted, they aren't raised again."""

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from fabricheck.baseline.proposal import UnacceptedStep
from fabricheck.errors import FabricheckError
from fabricheck.history.series import SeriesKey
from fabricheck.trend.accepted import Acceptance
from fabricheck.trend.detect import Trend
from fabricheck.trend.events import Change, Event, EventState
from fabricheck.trend.trend_text import amount, typical, where_words

_EXACT = ("partition", "environ", "check", "benchmark", "placement", "metric", "statistic", "size")


def steps_of(
    trend: Trend, system: str, fields: Mapping[str, Sequence[str | int]]
) -> list[tuple[UnacceptedStep, frozenset[SeriesKey]]]:
    """The steps of a system that stand and that nobody has accepted, oldest first.

    Each comes with the series that have it, of those whose fields have the given values.
    """
    found = []
    for event in reversed(trend.events):
        if event.system != system or event.state not in (EventState.NEW, EventState.OPEN):
            continue
        changes = [
            change
            for change in event.changes
            if all(getattr(change.key, name) in values for name, values in fields.items())
        ]
        if changes:
            date = str(event.since.astype("datetime64[D]"))
            words = f"{event.kind} of {amount(typical(event))} on {where_words(event)}"
            series = tuple(_series(event, changes))
            found.append(
                (UnacceptedStep(date, words, series), frozenset(each.key for each in changes))
            )
    return found


def steps_of_day(
    trend: Trend, system: str, day: str, fields: Mapping[str, Sequence[str | int]]
) -> list[UnacceptedStep]:
    """The steps of a day, of series whose fields have these values.

    Raises:
        FabricheckError: if there is none; the message names the days of others.
    """
    steps = [step for step, _ in steps_of(trend, system, fields)]
    found = [step for step in steps if step.date == day]
    if not found:
        days = ", ".join(step.date for step in steps)
        raise FabricheckError(
            f"FC1911 expected an unaccepted step of {day}, found steps of "
            f"{days or 'no day'}: see fabricheck trend"
        )
    return found


def record(step: UnacceptedStep, series: Mapping[str, Any], by: str, why: str) -> dict[str, Any]:
    """The record of an acceptance, for ``trend.accepted``."""
    return {
        "date": datetime.date.fromisoformat(step.date),
        "series": dict(series),
        "by": by,
        "signed": datetime.datetime.now(datetime.UTC).date(),
        "why": why,
    }


def missing(
    steps: Sequence[UnacceptedStep], known: Sequence[Acceptance], system: str
) -> list[tuple[UnacceptedStep, Mapping[str, Any]]]:
    """The records that nobody has written yet."""
    have = [
        (str(each.date), {name: list(values) for name, values in each.series.items()})
        for each in known
        if each.system == system
    ]
    return [
        (step, series)
        for step in steps
        for series in step.series
        if (step.date, {name: list(values) for name, values in series.items()}) not in have
    ]


def as_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as YAML, for the end of a list."""
    text: str = yaml.safe_dump(
        [dict(each) for each in records],
        default_flow_style=None,
        sort_keys=False,
        width=10**6,
        allow_unicode=True,
    )
    return text


def _series(event: Event, changes: Sequence[Change]) -> list[dict[str, list[str | int | None]]]:
    """The changed series and no others, in few records.

    What they share is enough where all series alike changed; otherwise there is one record for the
    sizes of each statistic of a case.
    """
    if event.alike == len(changes):
        return [{name: list(values) for name, values in event.shared.items()}]
    groups: dict[tuple[str | int | None, ...], list[int | None]] = defaultdict(list)
    for change in changes:
        *rest, size = (getattr(change.key, name) for name in _EXACT)
        groups[tuple(rest)].append(size)
    return [
        {
            **{name: [value] for name, value in zip(_EXACT[:-1], rest, strict=True)},
            "size": sorted(sizes, key=lambda size: (size is None, size)),
        }
        for rest, sizes in sorted(groups.items())
    ]
