"""Which node, which link: the cases that looked for slow places, and who was accused before.

All nodes are in a strip, and pairs or suspects in a matrix.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d

from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.judge.levels import Level
from fabricheck.localise import effects
from fabricheck.localise.effects import LATENCY, RECEIVES, SENDS, WAYS, Cell
from fabricheck.localise.explaining import Finding
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.located import Located, lines, locate
from fabricheck.measures.registry import names
from fabricheck.report import charts
from fabricheck.report.charts import CRITICAL, NEUTRAL, WARNING
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status

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


_SHOWN = 30
_BENCHMARKS = tuple(names("pair_health"))
_JUDGED = (Status.GOOD, Status.WARNING, Status.CRITICAL)


@dataclass(frozen=True, slots=True)
class PlaceView:
    """A case that looked for slow places.

    Attributes:
        title: the case, and where it ran.
        status: its status.
        lines: what it found, as the terminal has it; or why nothing can be shown.
        strip: name of the chart of all nodes; empty without.
        matrix: name of the chart of pairs, or of suspects by round; empty without.
        suspects: whether the matrix is one of suspects.
    """

    title: str
    status: Status
    lines: tuple[str, ...]
    strip: str = ""
    matrix: str = ""
    suspects: bool = False


@dataclass(frozen=True, slots=True)
class Accused:
    """A run in which a place was accused."""

    time: datetime
    where: str
    words: str


@dataclass(frozen=True, slots=True)
class Accusations:
    """What runs before said.

    Attributes:
        accused: runs with an accusation, the newest first.
        older: how many of them are not among these.
        others: runs without any.
    """

    accused: Sequence[Accused]
    older: int
    others: int


def place_views(run: ReportedRun) -> tuple[list[PlaceView], dict[str, dict[str, Any]]]:
    """The cases of a run, and the documents of their charts by the names of their elements."""
    views: list[PlaceView] = []
    documents: dict[str, dict[str, Any]] = {}
    for case in run.cases:
        if case.benchmark in _BENCHMARKS:
            views.append(_view(case, f"places-{len(views) + 1}", documents))
    return views, documents


def _view(case: ReportedCase, name: str, documents: dict[str, dict[str, Any]]) -> PlaceView:
    title = f"{case.title} ({case.system}:{case.partition})"
    if case.status not in _JUDGED:
        return PlaceView(title, case.status, case.causes)
    try:
        located = locate(Path(case.output))
    except FabricheckError as error:
        return PlaceView(title, case.status, (*case.causes, str(error)))
    strip, matrix = f"{name}-nodes", f"{name}-pairs"
    documents[strip] = charts.finish(_strip(located), strip)
    many = len(located.fabric.nodes) > MOST
    plot = _suspects(located) if many else _pairs(located)
    if plot:
        documents[matrix] = charts.finish(plot, matrix)
    found = tuple(lines(located))
    return PlaceView(title, case.status, found, strip, matrix if plot else "", bool(plot and many))


def _strip(located: Located) -> Any:
    """All nodes, sorted by leaf: how many times as slow as their peers they are."""
    fabric = located.fabric
    order = effects.by_leaf(fabric)
    factors = effects.of_nodes(located.verdict, len(order))
    every = np.concatenate(list(factors.values()))
    low, high = min(float(np.nanmin(every)), 1 / _LEAST), max(float(np.nanmax(every)), _LEAST)
    room = (high / low) ** _ROOM
    plot = charts.canvas(
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
    for number, way in enumerate(WAYS):
        color, marker = charts.look_of(number)
        marked = [states.get((way, int(node)), _GOOD) for node in order]
        source = ColumnDataSource(
            {
                "place": list(range(len(order))),
                "factor": [float(factors[way][node]) for node in order],
                "node": [fabric.nodes[node] for node in order],
                "leaf": [_leaf(fabric, int(node)) for node in order],
                "state": marked,
                "line": [_LINES.get(state, color) for state in marked],
                "size": [_size(len(order), state) for state in marked],
            }
        )
        _draw_way(plot, way, source, marker=marker, color=color)
    charts.legend(plot, columns=len(WAYS))
    return plot


def _draw_way(plot: Any, way: str, source: ColumnDataSource, **look: str) -> None:
    points = plot.scatter(
        "place",
        "factor",
        source=source,
        size="size",
        line_color="line",
        line_width=2,
        fill_alpha=0.6,
        **look,
        legend_label="latency" if way == LATENCY else f"bandwidth: {way}",
    )
    what = "has latency" if way == LATENCY else way
    told = f"@node @leaf{what} @factor{{0.000}} times as slow as its peers: @state"
    plot.add_tools(HoverTool(renderers=[points], tooltips=[("", told)]))


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


def _suspects(located: Located) -> Any:
    """The suspects in each round; None without any."""
    suspects = [*located.verdict.accused, *located.verdict.open][:MOST]
    if not suspects:
        return None
    rounds = range(1, located.rounds + 1)
    cells = effects.of_findings(suspects, located.verdict, located.fabric)
    plot = _cells(cells, rounds, list(map(_title, suspects)))
    plot.xaxis.axis_label = "round"
    plot.xaxis.ticker = FixedTicker(ticks=list(rounds))
    return plot


def _title(finding: Finding) -> str:
    return finding.names[0] if finding.metric == "bandwidth" else f"{finding.names[0]}, latency"


def _pairs(located: Located) -> Any:
    """Every pair."""
    fabric = located.fabric
    order = effects.by_leaf(fabric)
    place = {int(node): position for position, node in enumerate(order)}
    cells = (
        Cell(place[each.row], place[each.column], each.factor, each.words)
        for each in effects.of_pairs(located.verdict.tests[0], fabric)
    )
    plot = _cells(cells, range(len(order)), [fabric.nodes[node] for node in order])
    _name_nodes(plot.xaxis, fabric, order)
    plot.xaxis.axis_label, plot.yaxis.axis_label = "receives", "sends"
    for border in np.flatnonzero(np.diff(fabric.leaf[order])) + 0.5:
        plot.vspan(float(border), line_color=NEUTRAL, line_width=1)
        plot.hspan(float(border), line_color=NEUTRAL, line_width=1)
    return plot


def _cells(cells: Iterable[Cell], columns: range, rows: Sequence[str]) -> Any:
    """A figure of cells, the first row at the top."""
    plot = charts.canvas(
        x_range=Range1d(start=columns[0] - 0.5, end=columns[-1] + 0.5),
        y_range=Range1d(start=len(rows) - 0.5, end=-0.5),
    )
    plot.height = max(charts.HEIGHT, _FRAME + _ROW * len(rows))
    shown = list(cells)
    data: dict[str, Any] = {
        name: [getattr(cell, name) for cell in shown] for name in ("row", "column", "factor")
    }
    data["share"] = [1 / factor for factor in data["factor"]]
    data["words"] = [cell.words for cell in shown]
    depth = np.log(data["factor"]) / np.log(_DEEPEST)
    data["alpha"] = np.clip(depth, _FAINTEST, 1).tolist()
    source = ColumnDataSource(data)
    drawn = plot.rect(
        "column", "row", 0.94, 0.9, source=source, color=CRITICAL, fill_alpha="alpha",
        line_alpha=0.15,
    )  # fmt: skip
    told = "@words: @factor{0.000} times as slow as its peers (@share{0.000} of them)"
    plot.add_tools(HoverTool(renderers=[drawn], tooltips=[("", told)]))
    plot.yaxis.ticker = FixedTicker(ticks=list(range(len(rows))))
    plot.yaxis.major_label_overrides = dict(enumerate(rows))
    return plot


def accusations(history: History, selection: Selection) -> Accusations:
    """The runs of a history that looked for slow places."""
    fields = {**selection.fields, "benchmark": _BENCHMARKS}
    found = (
        history.values(Selection(fields, selection.since, selection.until))
        .select("time", "system", "partition", "environ", "transport", "level", "finding")
        .unique(maintain_order=True)
        .collect()
    )
    accused = found.filter(pl.col("level") == Level.CRITICAL).sort("time", descending=True)
    return Accusations(
        [
            Accused(time, f"{environ} {transport} ({system}:{partition})", finding)
            for time, system, partition, environ, transport, _, finding in accused[
                :_SHOWN
            ].iter_rows()
        ],
        max(len(accused) - _SHOWN, 0),
        len(found) - len(accused),
    )
