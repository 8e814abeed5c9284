"""The phases of matrix multiplications as charts of the page."""

from typing import Any

from bokeh.models import FixedTicker, HoverTool, Range1d

from fabricheck.benchmarks.quantity import with_unit
from fabricheck.report.canvas import MARKERS, SERIES_COLORS, canvas, finish
from fabricheck.report.charts import legend, log_ticks
from fabricheck.report.phases import AXIS, Panel

_ROOM = 1.5


def phase_chart(panel: Panel) -> dict[str, Any]:
    """A panel as a document that Bokeh draws into the element of its name."""
    values = [value for line in panel.lines for value in line.values]
    orders = sorted({order for line in panel.lines for order in line.orders})
    low, high = min(values) / _ROOM, max(values) * _ROOM
    plot = canvas(
        x_axis_type="log",
        y_axis_type="log",
        x_range=Range1d(start=orders[0] / _ROOM, end=orders[-1] * _ROOM),
        y_range=Range1d(start=low, end=high),
    )
    plot.xaxis.ticker = FixedTicker(ticks=orders)
    plot.xaxis.axis_label = AXIS
    ticks = log_ticks(low, high)
    plot.yaxis.ticker = FixedTicker(ticks=ticks)
    plot.yaxis.major_label_overrides = {
        tick: with_unit(tick, panel.unit, digits=1) for tick in ticks
    }
    for number, line in enumerate(panel.lines):
        look = {"color": SERIES_COLORS[number % len(SERIES_COLORS)], "legend_label": line.label}
        plot.line(line.orders, line.values, line_width=2, **look)
        marker = MARKERS[number % len(MARKERS)]
        points = plot.scatter(line.orders, line.values, size=7, marker=marker, **look)
        plot.add_tools(HoverTool(renderers=[points], tooltips=[(line.label, "N @x: @y{0.0} us")]))
    legend(plot, columns=2)
    return finish(plot, panel.name)
