"""Charts of curves, as documents that Bokeh draws in the page; and what all its charts share."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
from bokeh.plotting import figure
from bokeh.resources import Resources

from fabricheck.judge.levels import Level
from fabricheck.measures.metrics import axis_of, size_label
from fabricheck.record.entries import Sample
from fabricheck.report.curves import PRIMARY, Group, Series, series
from fabricheck.report.packing import short
from fabricheck.units import with_unit

HEIGHT = 320
# Colours with a contrast of at least 3:1 on the page's light and dark grounds.
SERIES_COLORS = ("#2f7fc1", "#d4622a", "#17967f", "#9166cc", "#c2477f", "#85801a")
MARKERS = ("circle", "square", "inverted_triangle", "hex", "diamond", "star")
NEUTRAL = "#7a7f87"
GOOD, WARNING, CRITICAL, UNKNOWN = "#2e9e5b", "#c98a00", "#d43d3d", "#a050c0"
_DASHES = {"p99": "dashed", "avg": "dotted", "max": "dotdash"}
_OUTSIDE = {
    Level.WARNING: ("triangle", WARNING),
    Level.CRITICAL: ("x", CRITICAL),
    Level.NO_REFERENCE: ("diamond", UNKNOWN),
    Level.UNTRUSTED: ("asterisk", UNKNOWN),
    Level.DISTURBED: ("star", UNKNOWN),
}

_LEGEND_COLUMNS = 3

_ROOM = 1.5
"""Factor of empty space on each side of the points."""

_BAND_ROOM = 20.0
"""Most that the axis grows to show a bound; bounds farther away are told in words only."""


def library() -> str:
    """Bokeh's own script, whole: what a page needs to draw charts with no network."""
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def canvas(**options: Any) -> Any:
    """An empty figure as wide as its place on the page, without tools of its own."""
    return figure(
        height=HEIGHT,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=NEUTRAL,
        **options,
    )


def look_of(number: int, markers: Sequence[str] = MARKERS) -> tuple[str, str]:
    """Colour and marker of a line by its number."""
    return SERIES_COLORS[number % len(SERIES_COLORS)], markers[number % len(markers)]


def around(values: Iterable[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis with room for some values."""
    found = list(values)
    return min(found) / _ROOM, max(found) * _ROOM


def log_log(sizes: Iterable[float], values: Iterable[float], unit: str) -> Any:
    """An empty figure with room for values over sizes, and ticks in the unit of the values."""
    (left, right), (low, high) = around(sizes), around(values)
    ranges = {"x_range": Range1d(start=left, end=right), "y_range": Range1d(start=low, end=high)}
    plot = canvas(x_axis_type="log", y_axis_type="log", **ranges)
    ticks = log_ticks(low, high)
    plot.yaxis.ticker = FixedTicker(ticks=ticks)
    plot.yaxis.major_label_overrides = {tick: with_unit(tick, unit, digits=1) for tick in ticks}
    return plot


def finish(plot: Any, target: str) -> dict[str, Any]:
    """The figure as a document that Bokeh draws into the element ``target``."""
    for axis in (*plot.xaxis, *plot.yaxis):
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = NEUTRAL
        axis.axis_label_text_color = axis.major_label_text_color = NEUTRAL
        axis.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color = NEUTRAL
    plot.grid.grid_line_alpha = 0.2
    for renderer in plot.renderers:
        # Nothing can be selected or muted: the glyphs for it would only make the page larger.
        renderer.nonselection_glyph = renderer.muted_glyph = None
    document: dict[str, Any] = _renumbered(json_item(plot, ID(target)), {})
    return document


def _renumbered(part: Any, numbers: dict[str, int]) -> Any:
    """A document whose objects are counted from 0, so that gzip finds all documents alike."""
    if isinstance(part, list | tuple):
        return [_renumbered(each, numbers) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: f"p{numbers.setdefault(each, len(numbers))}"
        if name in ("id", "root_id")
        else _renumbered(each, numbers)
        for name, each in part.items()
    }


def chart(group: Group, metric: str, environs: Sequence[str], target: str) -> dict[str, Any] | None:
    """The chart of a group's metric for the element ``target``; None where nothing can be drawn.

    Both axes are logarithmic. ``environs`` are all environments of the page: each keeps its colour
    and marker in every chart.
    """
    lines = series(group, metric)
    if not lines:
        return None
    sizes = sorted({sample.size for line in lines for sample in line.samples if sample.size})
    plot = log_log(sizes, _reach(lines), group.unit(metric))
    step = max(1, math.ceil(len(sizes) / 6))
    shown = sizes[::-1][::step][::-1]
    plot.xaxis.ticker = FixedTicker(ticks=shown, minor_ticks=sizes)
    plot.xaxis.major_label_overrides = {size: size_label(size, metric) for size in shown}
    plot.xaxis.axis_label = axis_of(metric).value
    _bands(plot, lines)
    for case in {id(line.case): line.case for line in lines}.values():
        look = look_of(environs.index(case.environ))
        _case(plot, [line for line in lines if line.case is case], *look)
    _outside(plot, lines)
    legend(plot, _legend_columns(len(group.statistics(metric))))
    return finish(plot, target)


def beyond(group: Group, metric: str) -> bool:
    """Whether a bound of the drawn statistic lies outside its chart's value axis."""
    lines = series(group, metric)
    if not lines:
        return False
    low, high = _reach(lines)
    return any(
        bound is not None and not low / _ROOM <= bound <= high * _ROOM
        for line in _primary(lines)
        for sample in line.samples
        for bound in (sample.lower, sample.upper)
    )


def _primary(lines: Sequence[Series]) -> list[Series]:
    for statistic in PRIMARY:
        if found := [line for line in lines if line.statistic == statistic]:
            return found
    return []


def _reach(lines: Sequence[Series]) -> tuple[float, float]:
    """The least and the largest that is drawn: the values, and the bounds that are not too far."""
    values = [s.value for line in lines for s in line.samples if s.value is not None]
    low, high = min(values), max(values)
    bounds = [
        bound
        for line in _primary(lines)
        for s in line.samples
        for bound in _bounds(s)
        if bound is not None and low / _BAND_ROOM <= bound <= high * _BAND_ROOM
    ]
    return min([low, *bounds]), max([high, *bounds])


def _bounds(sample: Sample) -> tuple[float | None, ...]:
    return sample.lower, sample.warning_lower, sample.warning_upper, sample.upper


def log_ticks(low: float, high: float) -> list[float]:
    """Decades between the two; with 2 and 5 between them where there are fewer than three.

    >>> log_ticks(0.5, 2000), log_ticks(3, 40)
    ([1, 10, 100, 1000], [5, 10, 20])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), tuple(range(1, 10))):
        ticks = [step * 10**n if n >= 0 else step / 10**-n for n in exponents for step in steps]
        found = [tick for tick in ticks if low <= tick <= high]
        if len(found) >= 3:  # noqa: PLR2004
            break
    return found


def _bands(plot: Any, lines: Sequence[Series]) -> None:
    """Shade what is allowed: good green, the warning band yellow; critical bounds as lines."""
    drawn = {tuple((s.size, *_bounds(s)) for s in line.samples): line for line in _primary(lines)}
    for bounds, line in drawn.items():
        if any(bound is not None for _, *of_size in bounds for bound in of_size):
            _band(plot, _corners(line.samples))


def _corners(samples: Sequence[Sample]) -> list[Sample]:
    """The samples at which bounds change, and the ends."""
    bounds = [_bounds(sample) for sample in samples]
    last = len(samples) - 1
    return [
        sample
        for n, sample in enumerate(samples)
        if n in (0, last) or not bounds[n - 1] == bounds[n] == bounds[n + 1]
    ]


def _band(plot: Any, samples: Sequence[Sample]) -> None:
    bottom: float = plot.y_range.start
    top: float = plot.y_range.end

    def within(bound: float | None, missing: float) -> float:
        return min(max(missing if bound is None else bound, bottom), top)

    sizes = [sample.size for sample in samples]
    low = [within(s.lower, bottom) for s in samples]
    high = [within(s.upper, top) for s in samples]
    good_low = list(map(max, low, (within(s.warning_lower, bottom) for s in samples)))
    good_high = list(map(min, high, (within(s.warning_upper, top) for s in samples)))
    plot.varea(sizes, good_low, good_high, fill_color=GOOD, fill_alpha=0.12)
    for one, other in ((low, good_low), (good_high, high)):
        if one != other:
            plot.varea(sizes, one, other, fill_color=WARNING, fill_alpha=0.22)
    for bounds in ([s.lower for s in samples], [s.upper for s in samples]):
        values = [b if b is not None and bottom <= b <= top else math.nan for b in bounds]
        if not all(map(math.isnan, values)):
            plot.line(sizes, values, line_color=CRITICAL, line_width=1.5, line_alpha=0.8)


def _case(plot: Any, lines: Sequence[Series], color: str, marker: str) -> None:
    """Draw a case's statistics; the points of the primary one have the tooltip."""
    environ, source = lines[0].case.environ, _source(lines)
    first = (_primary(lines) or lines)[0]
    for line in lines:
        bold = line is first
        label = f"{environ} {line.statistic}"
        look = {"source": source, "color": color, "legend_label": label}
        dash = "solid" if bold else _DASHES.get(line.statistic, "dotdash")
        plot.line("size", line.statistic, line_width=2 if bold else 1.3, line_dash=dash, **look)
        if bold:
            points = plot.scatter("size", line.statistic, marker=marker, size=6, **look)
            points.name = environ
    plot.add_tools(HoverTool(renderers=[points], tooltips=[(environ, "@words")]))


def _outside(plot: Any, lines: Sequence[Series]) -> None:
    """Mark the points that are not good, each level with its own sign.

    What nothing judges is whole curves as a rule: there only the primary statistic is marked.
    """
    for level, (marker, color) in _OUTSIDE.items():
        unjudged = level is Level.NO_REFERENCE
        marked = _primary(lines) if unjudged else lines
        look: dict[str, Any] = (
            {"size": 10, "line_width": 1.2} if unjudged else {"size": 13, "line_width": 2.5}
        )
        look |= {"marker": marker, "color": color, "fill_alpha": 0, "legend_label": str(level)}
        if found := [s for line in marked for s in line.samples if s.level == level]:
            plot.scatter([s.size for s in found], [s.value for s in found], **look)


def _source(lines: Sequence[Series]) -> ColumnDataSource:
    """All statistics of a case by size, with the words of the tooltip."""
    at: dict[int, list[Sample]] = {}
    for line in lines:
        for sample in line.samples:
            at.setdefault(sample.size or 0, []).append(sample)
    columns: dict[str, list[Any]] = {"size": sorted(at)}
    for line in lines:
        values = {sample.size: short(sample.value or 0) for sample in line.samples}
        columns[line.statistic] = [values.get(size, math.nan) for size in sorted(at)]
    columns["words"] = [_words(at[size]) for size in sorted(at)]
    return ColumnDataSource(columns)


def _words(samples: Sequence[Sample]) -> str:
    figures = ", ".join(f"{s.statistic} {with_unit(s.value or 0, s.unit)}" for s in samples)
    levels = {str(sample.level or "no level") for sample in samples}
    size = size_label(samples[0].size or 0, samples[0].metric)
    return f"{size}: {figures}; {', '.join(sorted(levels))}; bounds {bounds_words(samples[0])}"


def bounds_words(sample: Sample) -> str:
    """The critical bounds of a sample in words: ``1.00 ns to 100 ms``, ``none``."""
    lower = None if sample.lower is None else with_unit(sample.lower, sample.unit)
    upper = None if sample.upper is None else with_unit(sample.upper, sample.unit)
    if lower and upper:
        return f"{lower} to {upper}"
    return f"at least {lower}" if lower else f"at most {upper}" if upper else "none"


def _legend_columns(statistics: int) -> int:
    """So many that the statistics of one MPI fill whole rows, and a narrow window holds them."""
    if statistics == 1:
        return _LEGEND_COLUMNS
    fitting = (n for n in range(_LEGEND_COLUMNS, 1, -1) if statistics % n == 0)
    return next(fitting, _LEGEND_COLUMNS)


def legend(plot: Any, columns: int) -> None:
    """Put the legend above the chart, in so many columns; a click on a name hides its line."""
    box = plot.legend[0]
    plot.add_layout(box, "above")
    box.update(orientation="horizontal", location="left", ncols=columns, click_policy="hide")
    box.update(padding=0, margin=0, spacing=6, label_height=16, glyph_height=16)
    box.update(label_text_font_size="11px", label_text_color=NEUTRAL)
    box.update(background_fill_alpha=0, border_line_color=None)
