"""The explorer: every series with its last nights, levels, changes and bounds, and its charts.

A value is kept as a whole number of steps from the middle of its series: steps of 0.2 % where all
values are positive, else of a thousandth of the series' range; so are its levels and their bands.

The page fills the charts for the series and the night that its reader chooses
(templates/explorer.js). Sources are found by their names; values come in the unit that the axis
names.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from bokeh.models import BasicTicker, ColumnDataSource, FixedTicker, HoverTool, Range1d, TapTool

from fabricheck.history.series import Series, SeriesKey
from fabricheck.measures.metrics import Axis, Metric, row_of
from fabricheck.measures.registry import REGISTRY
from fabricheck.report.charts import CRITICAL, GOOD, NEUTRAL, SERIES_COLORS, canvas, finish
from fabricheck.report.history_view import HistoryView, Place, place_of, place_words
from fabricheck.report.packing import Steps, packed_json, packed_steps, short
from fabricheck.report.past import changes_of, segments
from fabricheck.trend.events import Change, EventState
from fabricheck.trend.trend_text import amount
from fabricheck.units import LADDERS

STEP: Final = 2e-3
"""Step of logarithms: values on the page are rounded to half of it, relative to themselves."""
MISSING: Final = -(1 << 15)
"""Stands for a night without value."""
MOST_VALUES: Final = 200_000
"""Values that a page has room for, whatever they are."""
MOST_NIGHTS: Final = 400
TREND: Final = "explorer-trend-chart"
CURVE: Final = "explorer-curve-chart"
STATISTICS: Final = "explorer-statistics-chart"
_LINE, _CHOSEN = SERIES_COLORS[0], SERIES_COLORS[1]
_LABELS = 70
"""Pixels beside the frame for the value axis."""


@dataclass(frozen=True, slots=True)
class ExplorerRow:
    """What turns the steps of a series into values.

    Attributes:
        series: the series.
        middle: the value of step 0.
        step: None where steps are of the logarithm, else the value of one.
    """

    series: Series
    middle: float
    step: float | None

    def steps(self, values: npt.NDArray[np.float64]) -> Steps:
        """Values as steps, those out of range as the farthest."""
        if self.step is None:
            steps = np.log(values / self.middle) / STEP
        else:
            steps = (values - self.middle) / self.step
        return np.clip(np.rint(steps), MISSING + 1, -MISSING - 1).astype(np.int16)


@dataclass(frozen=True, slots=True)
class Nights:
    """A table of series by sessions.

    Attributes:
        sessions: identities of the sessions, oldest first.
        times: when each began to measure, seconds since 1970, UTC.
        rows: the series that have a value in one of them.
        steps: their values in steps, one row for each series.
        before: number of sessions that are too old for the table.
    """

    sessions: tuple[str, ...]
    times: tuple[int, ...]
    rows: tuple[ExplorerRow, ...]
    steps: Steps
    before: int

    def place(self, session: str) -> int:
        """Column of a session, -1 for one that is older than the table."""
        return self.sessions.index(session) if session in self.sessions else -1


def lay_out(series: Sequence[Series], most_values: int = MOST_VALUES) -> Nights:
    """The last sessions of all series, as many as ``most_values`` leave room for."""
    room = max(1, min(MOST_NIGHTS, most_values // max(1, len(series))))
    first: dict[str, int] = {}
    for each in series:
        moments = each.times[-room:].astype("datetime64[s]").astype(np.int64).tolist()
        for session, moment in zip(map(str, each.sessions[-room:]), moments, strict=True):
            first[session] = min(moment, first.get(session, moment))
    sessions = sorted(first, key=lambda session: (first[session], session))[-room:]
    columns = {session: column for column, session in enumerate(sessions)}
    rows, lines = [], []
    for each in series:
        values = each.values[-room:]
        places = np.array([columns.get(str(session), -1) for session in each.sessions[-room:]])
        kept = np.isfinite(values) & (places >= 0)
        if kept.any():
            row = _row(each, values[kept])
            line = np.full(len(sessions), MISSING, dtype=np.int16)
            line[places[kept]] = row.steps(values[kept])
            rows.append(row)
            lines.append(line)
    longest = max(map(len, series), default=0)
    return Nights(
        tuple(sessions),
        tuple(first[session] for session in sessions),
        tuple(rows),
        np.array(lines, dtype=np.int16).reshape(len(rows), len(sessions)),
        max(0, longest - len(sessions)),
    )


def _row(series: Series, values: npt.NDArray[np.float64]) -> ExplorerRow:
    # Rounded first, so that what the steps are counted from is what the page has.
    middle = short(float(np.median(values)))
    if values.min() > 0:
        return ExplorerRow(series, middle, None)
    return ExplorerRow(series, middle, float(np.ptp(values)) / 1000 or 1.0)


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
    changes = changes_of(past.trend.events)
    chosen = (each for each in past.series if _is_telling(each.key) or each.key in changes)
    nights = lay_out(sorted(chosen, key=lambda each: _order(each.key)))
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
                [None if bound is None else short(bound) for bound in astuple(bounds)]
                if bounds
                else None,
                [_change(change, nights) for change in changes.get(key, ())],
            ]
        )
    several = Counter(place for place, _ in cases)
    index = {
        "times": nights.times,
        "logarithmic_step": STEP,
        "missing": MISSING,
        "ladders": LADDERS,
        "by_order": sorted(metric for metric in Metric if metric.row.axis is Axis.ORDER),
        "cases": [
            [place[3], place_words(place) + f", {check}" * (several[place] > 1)]
            for place, check in cases
        ],
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


def _is_telling(key: SeriesKey) -> bool:
    """Whether a series is on the page though it did not change: of a metric with sizes the figure
    that stands for it at each size, and the others at the sizes of its key figures.
    """
    row = row_of(key.metric)
    sized = row.key_figures if row and key.size else ()
    statistics, sizes = {each for each, _ in sized}, {size for _, size in sized}
    return not sized or key.statistic in statistics or key.size in sizes or None in sizes


def _order(key: SeriesKey) -> tuple[Any, ...]:
    names = list(REGISTRY)
    known = names.index(key.benchmark) if key.benchmark in REGISTRY else len(names)
    size = -1 if key.size is None else key.size
    return (known, *place_of(key), key.check, key.metric, key.statistic, size, key.unit)


def _stretches(row: ExplorerRow, nights: Nights, changes: Sequence[Change]) -> list[list[int]]:
    """The levels that reach into the table: first and last column, level and band in steps,
    accepted or not.
    """
    accepted = {change.index for change in changes if change.state is EventState.ACCEPTED}
    sessions = row.series.sessions
    found = []
    for stretch in segments(row.series, changes):
        first = nights.place(str(sessions[stretch.start]))
        last = nights.place(str(sessions[stretch.end - 1]))
        if last >= 0:
            figures = row.steps(np.array([stretch.level, stretch.low, stretch.high])).tolist()
            found.append([first, last, *figures, int(stretch.start in accepted)])
    return found


def _change(change: Change, nights: Nights) -> list[Any]:
    words = f"{change.state} {change.kind}, {amount(change)}"
    return [nights.place(change.session), str(change.kind), str(change.state), words]


def explorer_charts() -> dict[str, dict[str, Any]]:
    """The documents of the three charts by the names of their elements."""
    return {TREND: _trend(), CURVE: _curve(), STATISTICS: _statistics()}


def _source(name: str, *columns: str) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in columns}, name=name)


def _canvas(**options: Any) -> Any:
    """A figure whose frame stays where it is, whatever the labels of the axis."""
    ranges = {axis: Range1d(start=1, end=2) for axis in ("x_range", "y_range")}
    return canvas(min_border_left=_LABELS, **ranges, **options)


def _trend() -> dict[str, Any]:
    """Values over the nights, with levels, bands, bounds and changes."""
    plot = _canvas(x_axis_type="datetime")
    plot.yaxis.ticker = BasicTicker(num_minor_ticks=0)
    levels = _source("levels", "start", "end", "level", "low", "high")
    plot.quad("start", "end", top="high", bottom="low", source=levels, color=GOOD, fill_alpha=0.15)
    plot.segment("start", "level", "end", "level", source=levels, color=GOOD, line_width=2)
    bounds = _source("bounds", "value")
    plot.hspan("value", source=bounds, line_color=CRITICAL, line_width=1.5)
    changes = _source("changes", "time", "color")
    plot.vspan("time", source=changes, line_color="color", line_width=2, line_dash="dashed")
    nights = _source("nights", "time", "value", "words")
    plot.line("time", "value", source=nights, color=_LINE, line_alpha=0.5)
    points = plot.scatter("time", "value", source=nights, color=_LINE, size=6)
    _mark_chosen(plot)
    plot.add_tools(HoverTool(renderers=[points], tooltips=[("", "@words")]), TapTool())
    return finish(plot, TREND)


def _curve() -> dict[str, Any]:
    """Values of one night over message sizes, with the level, band and bounds of each size."""
    plot = _canvas(x_axis_type="log", y_axis_type="log")
    plot.xaxis.ticker = FixedTicker(ticks=[])
    plot.yaxis.ticker = FixedTicker(ticks=[])
    plot.xaxis.axis_label = "message size"
    typical = _source("typical", "size", "level", "low", "high")
    plot.varea("size", "low", "high", source=typical, color=GOOD, fill_alpha=0.15)
    plot.line("size", "level", source=typical, color=GOOD, line_width=2)
    bounds = _source("curve-bounds", "size", "reference", "lower", "upper")
    plot.line("size", "reference", source=bounds, color=NEUTRAL, line_dash="dashed", line_width=2)
    for bound in ("lower", "upper"):
        plot.line("size", bound, source=bounds, color=CRITICAL, line_width=1.5)
    night = _source("curve", "size", "value", "words")
    plot.line("size", "value", source=night, color=_LINE, line_width=2)
    points = plot.scatter("size", "value", source=night, color=_LINE, size=7)
    _mark_chosen(plot)
    plot.add_tools(HoverTool(renderers=[points], tooltips=[("", "@words")]))
    return finish(plot, CURVE)


def _statistics() -> dict[str, Any]:
    """All statistics of one message size over the nights, each named at its end."""
    plot = _canvas(x_axis_type="datetime", y_axis_type="log")
    plot.yaxis.ticker = FixedTicker(ticks=[])
    lines = _source("statistics", "times", "values", "color", "dash")
    plot.multi_line("times", "values", source=lines, color="color", line_width=2, line_dash="dash")
    names = _source("statistic-names", "time", "value", "name", "color")
    plot.text(
        "time", "value", text="name", source=names, text_color="color", x_offset=6,
        text_baseline="middle", text_font_size="13px",
    )  # fmt: skip
    _mark_chosen(plot)
    return finish(plot, STATISTICS)


def _mark_chosen(plot: Any) -> None:
    """Where the chosen night and size are."""
    chosen = _source("chosen", "x", "y")
    plot.scatter("x", "y", source=chosen, size=14, line_width=2.5, color=_CHOSEN, fill_alpha=0)
