"""Charts of slow places: all nodes in a strip, and pairs or suspects in a matrix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d

from fabricheck.localise.effects import (
    LATENCY,
    RECEIVES,
    SENDS,
    WAYS,
    Cell,
    by_leaf,
    of_findings,
    of_nodes,
    of_pairs,
)
from fabricheck.localise.explaining import Finding
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.located import Located
from fabricheck.report.canvas import (
    CRITICAL,
    HEIGHT,
    MARKERS,
    NEUTRAL,
    SERIES_COLORS,
    WARNING,
    canvas,
    finish,
)
from fabricheck.report.charts import legend
from fabricheck.trend.robust import Array

MOST: Final = 64
"""Nodes of which every pair is shown, and suspects that are shown beyond."""

_TICKS = (0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000)
_FINE_TICKS = (0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 3, 4)
_FINE = 4.0
"""Times as slow up to which the axis has the fine ones."""
_ROOM = 0.06
"""Of the axis, empty above and below the points."""
_LEAST = 1.25
_DEEPEST = 2.0
"""So many times as slow has the full colour."""
_FAINTEST = 0.08
_ROW = 15
"""Pixels of a row of the matrix."""
_FRAME = 110
_LABELS = 40
"""Names that fit on an axis."""
_LARGE, _SMALL = 9, 4
_MANY = 200
_GOOD, _OPEN, _ACCUSED = "good", "not cleared", "accused"
_LINES = {_OPEN: WARNING, _ACCUSED: CRITICAL}
States = dict[tuple[str, int], str]
"""By way and number of the node."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A chart of pairs; or of suspects by round."""

    document: dict[str, Any]
    suspects: bool


def strip(located: Located, target: str) -> dict[str, Any]:
    """All nodes, sorted by leaf: how many times as slow as their peers they are."""
    fabric = located.fabric
    order = by_leaf(fabric)
    factors = of_nodes(located.verdict, len(order))
    every = np.concatenate(list(factors.values()))
    low, high = min(float(np.nanmin(every)), 1 / _LEAST), max(float(np.nanmax(every)), _LEAST)
    room = (high / low) ** _ROOM
    plot = canvas(
        y_axis_type="log",
        x_range=Range1d(start=-1, end=len(order)),
        y_range=Range1d(start=low / room, end=high * room),
        min_border_left=60,
    )
    ticks = _FINE_TICKS if high < _FINE else _TICKS
    plot.yaxis.axis_label = "times as slow as its peers"
    plot.yaxis.ticker = FixedTicker(ticks=list(ticks))
    plot.yaxis.major_label_overrides = {tick: f"{tick:g}" for tick in ticks}
    _name_nodes(plot.xaxis, fabric, order)
    plot.hspan(1.0, line_color=NEUTRAL, line_width=1)
    states = _states(located)
    for way in WAYS:
        _draw_way(plot, way, _points(fabric, way, factors[way], order, states))
    legend(plot, columns=len(WAYS))
    return finish(plot, target)


def _draw_way(plot: Any, way: str, source: ColumnDataSource) -> None:
    number = WAYS.index(way)
    points = plot.scatter(
        "place",
        "factor",
        source=source,
        marker=MARKERS[number],
        size="size",
        color=SERIES_COLORS[number],
        line_color="line",
        line_width=2,
        fill_alpha=0.6,
        legend_label="latency" if way == LATENCY else f"bandwidth: {way}",
    )
    what = "has latency" if way == LATENCY else way
    told = f"@node @leaf{what} @factor{{0.000}} times as slow as its peers: @state"
    plot.add_tools(HoverTool(renderers=[points], tooltips=[("", told)]))


def _points(
    fabric: Fabric, way: str, factors: Array, order: Ints, states: States
) -> ColumnDataSource:
    marked = [states.get((way, int(node)), _GOOD) for node in order]
    color = SERIES_COLORS[WAYS.index(way)]
    return ColumnDataSource(
        {
            "place": list(range(len(order))),
            "factor": [float(factors[node]) for node in order],
            "node": [fabric.nodes[node] for node in order],
            "leaf": [_leaf(fabric, int(node)) for node in order],
            "state": marked,
            "line": [_LINES.get(state, color) for state in marked],
            "size": [_size(len(order), state) for state in marked],
        }
    )


def _leaf(fabric: Fabric, node: int) -> str:
    leaf = fabric.leaf[node]
    return f"on {fabric.leaves[leaf]} " if leaf >= 0 else ""


def _states(located: Located) -> States:
    """What the verdict says of ways of nodes that are not good."""
    fabric, verdict = located.fabric, located.verdict
    found: States = {}
    for state, findings in ((_OPEN, verdict.open), (_ACCUSED, verdict.accused)):
        for finding in findings:
            for place in finding.places:
                if (node := fabric.node_of(place)) is not None:
                    way = SENDS if place < len(fabric.nodes) else RECEIVES
                    found[LATENCY if finding.metric == "latency" else way, node] = state
    return found


def _size(nodes: int, state: str) -> int:
    return _LARGE if nodes <= _MANY or state != _GOOD else _SMALL


def _name_nodes(axis: Any, fabric: Fabric, order: Ints) -> None:
    """Nodes by name where there is room, else leaves, else every so many."""
    nodes = {place: fabric.nodes[node] for place, node in enumerate(order)}
    names = nodes
    if len(names) > _LABELS and len(fabric.leaves) > 1:
        leaf = fabric.leaf[order]
        middle = {int(np.median(np.flatnonzero(leaf == each))): name
                  for each, name in enumerate(fabric.leaves)}  # fmt: skip
        names = dict(sorted(middle.items()))
    if len(names) > _LABELS:
        step = -(-len(names) // _LABELS)
        names = dict(list(names.items())[::step])
    axis.ticker = FixedTicker(ticks=list(names))
    axis.major_label_overrides = names
    axis.major_label_orientation = 0.9


def matrix(located: Located, target: str) -> Matrix | None:
    """Every pair of up to 64 nodes; of more, the suspects in each round; None without any."""
    fabric, verdict = located.fabric, located.verdict
    if len(fabric.nodes) <= MOST:
        return Matrix(_pairs(located, target), suspects=False)
    suspects = [*verdict.accused, *verdict.open][:MOST]
    if not suspects:
        return None
    cells = of_findings(suspects, verdict, fabric)
    plot = _cells(cells, range(1, located.rounds + 1), list(map(_title, suspects)))
    plot.xaxis.axis_label = "round"
    plot.xaxis.ticker = FixedTicker(ticks=list(range(1, located.rounds + 1)))
    return Matrix(finish(plot, target), suspects=True)


def _title(finding: Finding) -> str:
    return finding.names[0] if finding.metric == "bandwidth" else f"{finding.names[0]}, latency"


def _pairs(located: Located, target: str) -> dict[str, Any]:
    fabric = located.fabric
    order = by_leaf(fabric)
    place = {int(node): position for position, node in enumerate(order)}
    cells = (
        Cell(place[each.row], place[each.column], each.factor, each.words)
        for each in of_pairs(located.verdict.tests[0], fabric)
    )
    plot = _cells(cells, range(len(order)), [fabric.nodes[node] for node in order])
    _name_nodes(plot.xaxis, fabric, order)
    plot.xaxis.axis_label, plot.yaxis.axis_label = "receives", "sends"
    for border in np.flatnonzero(np.diff(fabric.leaf[order])) + 0.5:
        plot.vspan(float(border), line_color=NEUTRAL, line_width=1)
        plot.hspan(float(border), line_color=NEUTRAL, line_width=1)
    return finish(plot, target)


def _cells(cells: Iterable[Cell], columns: range, rows: Sequence[str]) -> Any:
    """A figure of cells, the first row at the top."""
    plot = canvas(
        x_range=Range1d(start=columns[0] - 0.5, end=columns[-1] + 0.5),
        y_range=Range1d(start=len(rows) - 0.5, end=-0.5),
    )
    plot.height = max(HEIGHT, _FRAME + _ROW * len(rows))
    shown = list(cells)
    depth = np.log([each.factor for each in shown]) / np.log(_DEEPEST)
    source = ColumnDataSource(
        {
            "row": [each.row for each in shown],
            "column": [each.column for each in shown],
            "factor": [each.factor for each in shown],
            "share": [1 / each.factor for each in shown],
            "words": [each.words for each in shown],
            "alpha": [float(each) for each in np.clip(depth, _FAINTEST, 1)],
        }
    )
    drawn = plot.rect(
        "column", "row", 0.94, 0.9, source=source, color=CRITICAL, fill_alpha="alpha",
        line_alpha=0.15,
    )  # fmt: skip
    told = "@words: @factor{0.000} times as slow as its peers (@share{0.000} of them)"
    plot.add_tools(HoverTool(renderers=[drawn], tooltips=[("", told)]))
    plot.yaxis.ticker = FixedTicker(ticks=list(range(len(rows))))
    plot.yaxis.major_label_overrides = dict(enumerate(rows))
    return plot
