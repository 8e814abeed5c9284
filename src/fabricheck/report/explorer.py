"""The data behind the explorer: every series with its nights, levels, changes and bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from fabricheck.history.series import SeriesKey
from fabricheck.measures.metrics import Axis, Metric
from fabricheck.measures.registry import REGISTRY
from fabricheck.report.history_view import HistoryView, Place, place_of, place_words
from fabricheck.report.nights import (
    MISSING,
    STEP,
    Nights,
    Row,
    lay_out,
    packed_json,
    packed_steps,
)
from fabricheck.report.segments import changes_of, segments
from fabricheck.trend.events import Change, State
from fabricheck.trend.trend_text import amount
from fabricheck.units import LADDERS

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Explorer:
    """The packed data, and where each series stands in it.

    Attributes:
        nights: how many nights it has.
        older: how many nights of the longest series it has no room for.
        index: packed description of cases and series.
        values: packed values.
        places: number of each series.
    """

    nights: int
    older: int
    index: str
    values: str
    places: Mapping[SeriesKey, int]


def build_explorer(past: HistoryView) -> Explorer:
    """The last nights of all series, by case; a case is what one job measures."""
    nights = lay_out(sorted(past.series, key=lambda each: _order(each.key)))
    changes = changes_of(past.trend.events)
    cases: dict[tuple[Place, str], int] = {}
    rows = []
    for row in nights.rows:
        key = row.series.key
        case = cases.setdefault((place_of(key), key.check), len(cases))
        bounds = past.bounds.get(key)
        rows.append(
            [
                case,
                key.metric,
                key.statistic,
                key.size,
                key.unit,
                row.middle,
                row.step,
                _stretches(row, nights, changes.get(key, ())),
                [_maybe(bound) for bound in astuple(bounds)] if bounds else None,
                [_change(change, nights) for change in changes.get(key, ())],
            ]
        )
    index = {
        "times": nights.times,
        "logarithmic_step": STEP,
        "missing": MISSING,
        "ladders": LADDERS,
        "by_order": sorted(metric for metric in Metric if metric.row.axis is Axis.ORDER),
        "cases": [[place[3], place_words(place)] for place, _ in cases],
        # Neighbours in a column are alike, so that gzip finds less to keep.
        "columns": list(zip(*rows, strict=True)),
    }
    return Explorer(
        len(nights.sessions),
        nights.before,
        packed_json(index),
        packed_steps(nights.steps),
        {row.series.key: number for number, row in enumerate(nights.rows)},
    )


def _order(key: SeriesKey) -> tuple[Any, ...]:
    names = list(REGISTRY)
    known = names.index(key.benchmark) if key.benchmark in REGISTRY else len(names)
    size = -1 if key.size is None else key.size
    return (known, *place_of(key), key.check, key.metric, key.statistic, size, key.unit)


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _maybe(value: float | None) -> float | None:
    return None if value is None else _short(value)


def _stretches(row: Row, nights: Nights, changes: Sequence[Change]) -> list[list[float]]:
    """The levels that reach into the table: first and last column, level, band, accepted or not."""
    accepted = {change.index for change in changes if change.state is State.ACCEPTED}
    sessions = row.series.sessions
    found = []
    for stretch in segments(row.series, changes):
        first = nights.place(str(sessions[stretch.start]))
        last = nights.place(str(sessions[stretch.end - 1]))
        if last >= 0:
            figures = (_short(each) for each in (stretch.level, stretch.low, stretch.high))
            found.append([first, last, *figures, int(stretch.start in accepted)])
    return found


def _change(change: Change, nights: Nights) -> list[Any]:
    words = f"{change.state} {change.kind}, {amount(change)}"
    return [nights.place(change.session), str(change.kind), str(change.state), words]
