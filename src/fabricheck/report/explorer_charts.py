"""The three charts of the explorer: trend, curve of a night, percentiles. Without data.

The page fills them for the series and the night that its reader chooses (templates/explorer.js).
Sources are found by their names; values come in the unit that the axis names.
"""

from typing import Any, Final

from bokeh.models import BasicTicker, ColumnDataSource, FixedTicker, HoverTool, Range1d, TapTool

from fabricheck.report.canvas import CRITICAL, GOOD, NEUTRAL, SERIES_COLORS, canvas, finish

TREND: Final = "explorer-trend-chart"
CURVE: Final = "explorer-curve-chart"
STATISTICS: Final = "explorer-statistics-chart"

_LINE, _CHOSEN = SERIES_COLORS[0], SERIES_COLORS[1]

_LABELS = 70
"""Pixels beside the frame for the value axis."""


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
