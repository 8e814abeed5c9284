"""Figures of benchmarks' folders as charts of the page."""

from typing import Any

from bokeh.models import FixedTicker, HoverTool, Range1d

from fabricheck.measures.metrics import Axis
from fabricheck.report.canvas import MARKERS, SERIES_COLORS, canvas, finish
from fabricheck.report.charts import legend, log_ticks
from fabricheck.report.phases import Distribution, Line, Panel
from fabricheck.units import with_unit

_ROOM = 1.5
_MOST_TICKS = 12
_SIZES = {Axis.ORDER: "N @x", Axis.BYTES: "@x B"}


def phase_chart(panel: Panel | Distribution) -> dict[str, Any]:
    """A panel as a document that Bokeh draws into the element of its name."""
    plot = _shares(panel) if isinstance(panel, Distribution) else _values(panel)
    legend(plot, columns=2)
    return finish(plot, panel.name)


def _shares(panel: Distribution) -> Any:
    times = [time for line in panel.lines for time in line.sizes]
    low, high = min(times) / _ROOM, max(times) * _ROOM
    plot = canvas(
        x_axis_type="log",
        x_range=Range1d(start=low, end=high),
        y_range=Range1d(start=0, end=100),
    )
    plot.xaxis.ticker = FixedTicker(ticks=log_ticks(low, high))
    plot.xaxis.axis_label = "time (ms)"
    plot.yaxis.ticker = FixedTicker(ticks=[0, 25, 50, 75, 90, 100])
    plot.yaxis.axis_label = "share that ended by then (%)"
    _draw(plot, panel.lines, "@x{0.00} ms: @y %")
    return plot


def _values(panel: Panel) -> Any:
    values = [value for line in panel.lines for value in line.values]
    sizes, unit = panel.sizes, panel.metric.row.unit
    low, high = min(values) / _ROOM, max(values) * _ROOM
    plot = canvas(
        x_axis_type="log",
        y_axis_type="log",
        x_range=Range1d(start=sizes[0] / _ROOM, end=sizes[-1] * _ROOM),
        y_range=Range1d(start=low, end=high),
    )
    plot.xaxis.ticker = FixedTicker(ticks=sizes[:: 1 + len(sizes) // _MOST_TICKS])
    plot.xaxis.major_label_overrides = {size: panel.label(size) for size in sizes}
    plot.xaxis.axis_label = panel.metric.row.axis
    ticks = log_ticks(low, high)
    plot.yaxis.ticker = FixedTicker(ticks=ticks)
    plot.yaxis.major_label_overrides = {tick: with_unit(tick, unit, digits=1) for tick in ticks}
    _draw(plot, panel.lines, f"{_SIZES[panel.metric.row.axis]}: @y{{0.0}} {unit}")
    return plot


def _draw(plot: Any, lines: tuple[Line, ...], told: str) -> None:
    for number, line in enumerate(lines):
        look = {"color": SERIES_COLORS[number % len(SERIES_COLORS)], "legend_label": line.label}
        plot.line(line.sizes, line.values, line_width=2, **look)
        marker = MARKERS[number % len(MARKERS)]
        points = plot.scatter(line.sizes, line.values, size=7, marker=marker, **look)
        plot.add_tools(HoverTool(renderers=[points], tooltips=[(line.label, told)]))
