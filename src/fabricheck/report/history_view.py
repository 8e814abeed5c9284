"""What the history says up to a run: what the page shows beside the run itself."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from fabricheck.history.frame import KEY
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series, SeriesKey
from fabricheck.history.store import History
from fabricheck.localise.nodes import NodeTrend, node_trend
from fabricheck.record.read import IMPORTED_DAY
from fabricheck.report.places import Accusations, accusations
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.trend.accepted import read_accepted
from fabricheck.trend.attribution import Difference, around, attribute
from fabricheck.trend.detect import Trend, analyse
from fabricheck.trend.events import Event, EventKind, EventState
from fabricheck.trend.settings import read_settings

_BOUND_DAYS = 30
"""Days before the last night in which bounds are looked for."""


Place = tuple[str, str, str, str, str]


def place_of(item: SeriesKey | ReportedCase) -> Place:
    """What a series and a case must share to be of the same job: where, what, and how."""
    return item.system, item.partition, item.environ, item.benchmark, item.placement


def place_words(place: Place) -> str:
    """A place as a report names its case, and where it is."""
    system, partition, environ, benchmark, placement = place
    words = " ".join(filter(None, (benchmark, environ, placement)))
    return f"{words} ({system}:{partition})"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a series was last judged by, in its unit; None where there is none."""

    reference: float | None
    lower: float | None
    upper: float | None
    warning_lower: float | None
    warning_upper: float | None


_BOUNDS = [field.name for field in fields(Bounds)]


@dataclass(frozen=True, slots=True)
class HistoryView:
    """The history of a run's systems, up to the run.

    Attributes:
        trend: what the detectors say.
        events: the events to show: what asks for something first, then what most series show.
        differences: for each of the events what differs in provenance, most telling first.
        series: the series.
        bounds: the bounds of the series that have some.
        lines: for each kind of problem, how many lines of the record have it.
        holds_run: whether the run itself is in it.
        nodes: what the last weeks say of each system's nodes.
        accusations: which places were accused in jobs that looked for slow ones.
    """

    trend: Trend
    events: tuple[Event, ...]
    differences: tuple[tuple[Difference, ...], ...]
    series: tuple[Series, ...]
    bounds: Mapping[SeriesKey, Bounds]
    lines: Mapping[str, int]
    holds_run: bool
    nodes: tuple[NodeTrend, ...] = ()
    accusations: Accusations | None = None


def read_history_view(
    store: Path, run: ReportedRun, sites: Iterable[Path], references: Iterable[Path]
) -> HistoryView:
    """Read and judge the history of the run's systems, without what came after the run.

    Args:
        store: directory of the history.
        run: the run.
        sites: directories of the site files, with the detectors' settings.
        references: directories of the steps that were accepted.

    Raises:
        FabricheckError: if there is no history, or a site file or an acceptance is wrong.
    """
    accepted = read_accepted(references)
    selection = Selection({"system": run.systems} if run.systems else {}, until=_after(run))
    with History.open_to_read(store) as history:
        series = tuple(history.series(selection))
        settings = read_settings(sites, {each.key.system for each in series})
        trend = analyse(series, settings, accepted)
        bounds = {} if trend.newest is None else _bounds(history, selection, trend.newest)
        events = shown(trend)
        provenance = history.provenance(around(events, selection))
        nodes = (
            ()
            if trend.newest is None
            else tuple(node_trend(history, each, trend.newest) for each in run.systems)
        )
        accused = accusations(history, selection)
        lines = Counter[str](problem.kind for problem in history.status().problems)
    sessions = {str(each.sessions[-1]) for each in series if len(each)}
    return HistoryView(
        trend,
        events,
        tuple(tuple(attribute(event, series, provenance)) for event in events),
        series,
        bounds,
        lines,
        # What was imported of a day has the name of the day, its sessions have those of moments.
        any(each.startswith(run.session.removeprefix(IMPORTED_DAY)) for each in sessions),
        nodes,
        accused,
    )


def _after(run: ReportedRun) -> datetime | None:
    """The first moment after a run; None if its end isn't known."""
    try:
        return datetime.fromisoformat(run.ended) + timedelta(seconds=1)
    except ValueError:
        return None


def shown(trend: Trend) -> tuple[Event, ...]:
    """The events to show: those of the last days and all that are open.

    What asks for something comes first; of that, what most series show.
    """
    states, kinds = list(EventState), list(EventKind)

    def order(event: Event) -> tuple[int, ...]:
        rank = states.index(event.state), kinds.index(event.kind)
        return *rank, -len(event.changes), -int(event.since.astype(int))

    return tuple(sorted(trend.recent(), key=order))


def _bounds(
    history: History, selection: Selection, newest: np.datetime64
) -> dict[SeriesKey, Bounds]:
    """The latest bounds of each series."""
    since = newest.astype(datetime).replace(tzinfo=UTC) - timedelta(days=_BOUND_DAYS)
    found = (
        history.values(Selection(selection.fields, since, selection.until))
        .filter(pl.any_horizontal(pl.col(_BOUNDS).is_not_null()))
        .group_by(list(KEY))
        .agg(pl.col(_BOUNDS).last())
        .with_columns(pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in _BOUNDS)
        .collect()
    )
    keys = len(KEY)
    return {SeriesKey(*row[:keys]): Bounds(*row[keys:]) for row in found.iter_rows()}
