"""Charts of curves, as documents that Bokeh draws in the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d

from fabricheck.judge.levels import Level
from fabricheck.measures.metrics import axis_of, size_label
from fabricheck.record.entries import Sample
from fabricheck.report.canvas import (
    CRITICAL,
    GOOD,
    MARKERS,
    NEUTRAL,
    SERIES_COLORS,
    UNKNOWN,
    WARNING,
    canvas,
    finish,
)
from fabricheck.report.curves import PRIMARY, Group, Series, series
from fabricheck.report.run import Case
from fabricheck.units import with_unit

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
"""Factor of empty space above and below the points."""

_BAND_ROOM = 20.0
"""Most that the axis grows to show a bound; bounds farther away are told in words only."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Ends of the value axis, both positive."""

    low: float
    high: float

    def clip(self, value: float | None, missing: float) -> float:
        """The value within the range; ``missing`` where there is none."""
        return min(max(missing if value is None else value, self.low), self.high)


def chart(group: Group, metric: str, environs: Sequence[str], target: str) -> dict[str, Any] | None:
    """The chart of a group's metric for the element ``target``; None where nothing can be drawn.

    Both axes are logarithmic. ``environs`` are all environments of the page: each keeps its colour
    and marker in every chart.
    """
    lines = series(group, metric)
    if not lines:
        return None
    unit = group.unit(metric)
    extent = _extent(lines)
    sizes = sorted({sample.size for line in lines for sample in line.samples if sample.size})
    plot = canvas(
        x_axis_type="log",
        y_axis_type="log",
        x_range=Range1d(start=sizes[0] / 1.5, end=sizes[-1] * 1.5),
        y_range=Range1d(start=extent.low, end=extent.high),
    )
    _axes(plot, sizes, extent, metric, unit)
    _bands(plot, lines, extent)
    for case in {id(line.case): line.case for line in lines}.values():
        points = _case(plot, case, [line for line in lines if line.case is case], environs)
        plot.add_tools(HoverTool(renderers=[points], tooltips=[(case.environ, "@words")]))
    _outside(plot, lines)
    statistics = len(group.statistics(metric))
    legend(plot, _legend_columns(statistics))
    return finish(plot, target)


def beyond(group: Group, metric: str) -> bool:
    """Whether a bound of the drawn statistic lies outside its chart's value axis."""
    lines = series(group, metric)
    if not lines:
        return False
    extent = _extent(lines)
    return any(
        bound is not None and not extent.low <= bound <= extent.high
        for line in _primary(lines)
        for sample in line.samples
        for bound in (sample.lower, sample.upper)
    )


def _primary(lines: Sequence[Series]) -> list[Series]:
    for statistic in PRIMARY:
        if found := [line for line in lines if line.statistic == statistic]:
            return found
    return []


def _extent(lines: Sequence[Series]) -> Extent:
    values = [s.value for line in lines for s in line.samples if s.value is not None]
    low, high = min(values), max(values)
    bounds = [
        bound
        for line in _primary(lines)
        for s in line.samples
        for bound in (s.lower, s.upper, s.warning_lower, s.warning_upper)
        if bound is not None and low / _BAND_ROOM <= bound <= high * _BAND_ROOM
    ]
    return Extent(min([low, *bounds]) / _ROOM, max([high, *bounds]) * _ROOM)


def _axes(plot: Any, sizes: Sequence[int], extent: Extent, metric: str, unit: str) -> None:
    step = max(1, math.ceil(len(sizes) / 6))
    shown = sizes[::-1][::step][::-1]
    plot.xaxis.ticker = FixedTicker(ticks=shown, minor_ticks=list(sizes))
    plot.xaxis.major_label_overrides = {size: size_label(size, metric) for size in shown}
    plot.xaxis.axis_label = axis_of(metric).value
    ticks = log_ticks(extent.low, extent.high)
    plot.yaxis.ticker = FixedTicker(ticks=ticks)
    plot.yaxis.major_label_overrides = {tick: with_unit(tick, unit, digits=1) for tick in ticks}


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


def _bands(plot: Any, lines: Sequence[Series], extent: Extent) -> None:
    """Shade what is allowed: good green, the warning band yellow; critical bounds as lines."""
    drawn = set()
    for line in _primary(lines):
        bounds = tuple(
            (s.size, s.lower, s.warning_lower, s.warning_upper, s.upper) for s in line.samples
        )
        if bounds in drawn or all(b[1:] == (None,) * 4 for b in bounds):
            continue
        drawn.add(bounds)
        _band(plot, _corners(line.samples), extent)


def _corners(samples: Sequence[Sample]) -> list[Sample]:
    """The samples at which bounds change, and the ends."""
    bounds = [(s.lower, s.warning_lower, s.warning_upper, s.upper) for s in samples]
    last = len(samples) - 1
    return [
        sample
        for n, sample in enumerate(samples)
        if n in (0, last) or not bounds[n - 1] == bounds[n] == bounds[n + 1]
    ]


def _band(plot: Any, samples: Sequence[Sample], extent: Extent) -> None:
    sizes = [sample.size for sample in samples]
    low = [extent.clip(s.lower, extent.low) for s in samples]
    high = [extent.clip(s.upper, extent.high) for s in samples]
    good_low = [
        max(extent.clip(sample.warning_lower, extent.low), end)
        for sample, end in zip(samples, low, strict=True)
    ]
    good_high = [
        min(extent.clip(sample.warning_upper, extent.high), end)
        for sample, end in zip(samples, high, strict=True)
    ]
    plot.varea(sizes, good_low, good_high, fill_color=GOOD, fill_alpha=0.12)
    for one, other in ((low, good_low), (good_high, high)):
        if one != other:
            plot.varea(sizes, one, other, fill_color=WARNING, fill_alpha=0.22)
    for bounds in ([s.lower for s in samples], [s.upper for s in samples]):
        values = [math.nan if b is None or b != extent.clip(b, b) else b for b in bounds]
        if not all(math.isnan(value) for value in values):
            plot.line(sizes, values, line_color=CRITICAL, line_width=1.5, line_alpha=0.8)


def _case(plot: Any, case: Case, lines: Sequence[Series], environs: Sequence[str]) -> Any:
    """Draw a case's statistics; returns the points of the primary one, which have the tooltip."""
    number = environs.index(case.environ)
    color = SERIES_COLORS[number % len(SERIES_COLORS)]
    marker = MARKERS[number % len(MARKERS)]
    source = _source(lines)
    first = _primary(lines)[0] if _primary(lines) else lines[0]
    points = None
    for line in lines:
        bold = line is first
        look = {
            "source": source,
            "color": color,
            "legend_label": f"{case.environ} {line.statistic}",
        }
        dash = "solid" if bold else _DASHES.get(line.statistic, "dotdash")
        plot.line("size", line.statistic, line_width=2 if bold else 1.3, line_dash=dash, **look)
        if bold:
            points = plot.scatter("size", line.statistic, marker=marker, size=6, **look)
            points.name = case.environ
    return points


def _outside(plot: Any, lines: Sequence[Series]) -> None:
    """Mark the points that are not good, each level with its own sign.

    What nothing judges is whole curves as a rule: there only the primary statistic is marked.
    """
    for level, (marker, color) in _OUTSIDE.items():
        unjudged = level is Level.NO_REFERENCE
        marked = _primary(lines) if unjudged else lines
        found = [s for line in marked for s in line.samples if s.level == level]
        if found:
            plot.scatter(
                [s.size for s in found],
                [s.value for s in found],
                marker=marker,
                color=color,
                fill_alpha=0,
                size=10 if unjudged else 13,
                line_width=1.2 if unjudged else 2.5,
                legend_label=str(level),
            )


def _source(lines: Sequence[Series]) -> ColumnDataSource:
    """All statistics of a case by size, with the words of the tooltip."""
    at: dict[int, list[Sample]] = {}
    for line in lines:
        for sample in line.samples:
            at.setdefault(sample.size or 0, []).append(sample)
    columns: dict[str, list[Any]] = {"size": sorted(at)}
    for line in lines:
        values = {sample.size: sample.value for sample in line.samples}
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
    box.orientation = "horizontal"
    box.location = "left"
    box.ncols = columns
    box.padding = box.margin = 0
    box.spacing = 6
    box.label_text_font_size = "11px"
    box.label_text_color = NEUTRAL
    box.label_height = box.glyph_height = 16
    box.background_fill_alpha = 0
    box.border_line_color = None
    box.click_policy = "hide"
