"""What a program's folder adds to the page (its module ``page``): panels of lines, and tables.

They are drawn as charts of the page, and as files: one SVG and one PNG for each panel.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bokeh.models import FixedTicker, HoverTool, Range1d

from fabricheck.errors import FabricheckError, optional
from fabricheck.measures.metrics import Axis, Metric, point_label
from fabricheck.measures.part import Part
from fabricheck.measures.registry import parts
from fabricheck.report import charts
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.units import amount, with_unit

_MOST_TICKS = 12
_SIZES = {Axis.ORDER: "N @x", Axis.BYTES: "@x B"}
_TIME = "time (ms)"
_SHARES = (0, 25, 50, 75, 90, 100)
_MARKERS = ("o", "s", "v", "h", "D", "*")
_INCHES = (6.4, 4.4)
_DOTS_PER_INCH = 150
# The same run gives the same bytes: no date, and no random names inside the SVG.
_METADATA = {"svg": {"Date": None}, "png": {"Software": None}}
_STYLE: dict[Any, Any] = {"svg.hashsalt": "fabricheck", "svg.fonttype": "none"}


@dataclass(frozen=True, slots=True)
class PhaseLine:
    """The values of one case, in the unit of its metric, by rising size."""

    label: str
    sizes: tuple[float, ...]
    values: tuple[float, ...]


def line_of(case: ReportedCase, label: str, metric: str, statistic: str) -> Iterator[PhaseLine]:
    """The line of a metric of a case; none without values."""
    found = sorted(
        (sample.size, sample.value)
        for sample in case.samples
        if (sample.metric, sample.statistic) == (metric, statistic)
        and sample.size is not None
        and sample.value
    )
    if found:
        yield PhaseLine(label, *zip(*found, strict=True))


def slug(*words: str) -> str:
    """The name of an element of the page, and of its file."""
    return re.sub(r"[^a-z0-9_]+", "-", "-".join(words).lower())


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric, or phase; ``name`` is that of its element on the page and of its file."""

    name: str
    title: str
    metric: Metric
    lines: tuple[PhaseLine, ...]

    @property
    def words(self) -> str:
        """The panel for those who can't see it: the ends of each line."""
        return _ends(self)

    @property
    def sizes(self) -> list[float]:
        """Every size that a line has."""
        return sorted({size for line in self.lines for size in line.sizes})

    def label(self, size: float) -> str:
        """How a size is called on the axis."""
        return point_label(self.metric, int(size))

    def figure(self, value: float) -> str:
        """How a value is called."""
        return amount(value, self.metric.row.unit)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many of a hundred ended by a time: the sizes of its lines are milliseconds.

    ``share`` says it where it is another share, and ``most`` is the top of its axis.
    """

    name: str
    title: str
    lines: tuple[PhaseLine, ...]
    share: str = "share that ended by then (%)"
    most: int = 100

    @property
    def words(self) -> str:
        """The panel for those who can't see it: the ends of each line."""
        return _ends(self)

    def label(self, size: float) -> str:
        """How a time is called."""
        return f"{size:.4g} ms"

    def figure(self, value: float) -> str:
        """How a share is called."""
        return f"{value:.4g} %"


def _ends(panel: Panel | Distribution) -> str:
    ends = [
        f"{line.label} from {panel.figure(line.values[0])} at {panel.label(line.sizes[0])} to "
        f"{panel.figure(line.values[-1])} at {panel.label(line.sizes[-1])}"
        for line in panel.lines
    ]
    return f"{panel.title}: {'; '.join(ends)}"


@dataclass(frozen=True, slots=True)
class PhaseTable:
    """A table: its head, and the rows below, in words."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PhaseFigure:
    """Panels that belong together, such as all phases of a multiplication.

    Attributes:
        title: where it was measured.
        panels: the pictures.
        key: what they show, where the section does not say it.
        table: what stands above them.
    """

    title: str
    panels: tuple[Panel | Distribution, ...]
    key: str = ""
    table: PhaseTable | None = None


class Page(Protocol):
    """What ``page.py`` of a program's folder offers."""

    def figures(self, run: ReportedRun) -> Iterable[PhaseFigure]:
        """Its figures of a run."""


PAGE = Part("page", Page)


def phase_figures(run: ReportedRun) -> tuple[PhaseFigure, ...]:
    """The figures of a run, of all folders that have some."""
    return tuple(figure for page in parts(PAGE) for figure in page.figures(run))


def phase_chart(panel: Panel | Distribution) -> dict[str, Any]:
    """A panel as a document that Bokeh draws into the element of its name."""
    plot, told = _shares(panel) if isinstance(panel, Distribution) else _values(panel)
    for number, line in enumerate(panel.lines):
        color, marker = charts.look_of(number)
        look = {"color": color, "legend_label": line.label}
        plot.line(line.sizes, line.values, line_width=2, **look)
        points = plot.scatter(line.sizes, line.values, size=7, marker=marker, **look)
        plot.add_tools(HoverTool(renderers=[points], tooltips=[(line.label, told)]))
    charts.legend(plot, columns=2)
    return charts.finish(plot, panel.name)


def _shares(panel: Distribution) -> tuple[Any, str]:
    low, high = charts.around(time for line in panel.lines for time in line.sizes)
    ranges = {"x_range": Range1d(start=low, end=high), "y_range": Range1d(start=0, end=panel.most)}
    plot = charts.canvas(x_axis_type="log", **ranges)
    plot.xaxis.ticker = FixedTicker(ticks=charts.log_ticks(low, high))
    plot.yaxis.ticker = FixedTicker(
        ticks=_SHARES if panel.most in _SHARES else [*range(0, panel.most + 1, 10)]
    )
    plot.xaxis.axis_label, plot.yaxis.axis_label = _TIME, panel.share
    return plot, "@x{0.00} ms: @y %"


def _values(panel: Panel) -> tuple[Any, str]:
    sizes, row = panel.sizes, panel.metric.row
    plot = charts.log_log(sizes, (value for line in panel.lines for value in line.values), row.unit)
    plot.xaxis.ticker = FixedTicker(ticks=sizes[:: 1 + len(sizes) // _MOST_TICKS])
    plot.xaxis.major_label_overrides = {size: panel.label(size) for size in sizes}
    plot.xaxis.axis_label = row.axis
    return plot, f"{_SIZES[row.axis]}: @y{{0.0}} {row.unit}"


def write_phases(figures: Sequence[PhaseFigure], directory: Path) -> list[Path]:
    """Write every panel into a directory, which is made if need be; the files that were written.

    Raises:
        FabricheckError: if there is nothing to draw, or a file cannot be written.
    """
    mpl = optional("matplotlib", "plots")
    if not figures:
        raise FabricheckError(
            "FC2106 expected values of a matrix multiplication, or of MPI on GPUs, in the record, "
            "found none: run the check MpiMatmul or CudaMpi first, or leave out --plots"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(_STYLE):
            return [
                path
                for figure in figures
                for panel in figure.panels
                for path in _write(figure.title, panel, directory)
            ]
    except OSError as error:
        raise FabricheckError(
            f"FC2107 cannot write the plots into {directory}: {error.strerror or error}; name a "
            "directory that is writable and has space"
        ) from error


def _write(title: str, panel: Panel | Distribution, directory: Path) -> Iterator[Path]:
    drawn = _draw(title, panel)
    for form, metadata in _METADATA.items():
        path = directory / f"{panel.name}.{form}"
        part = path.with_name(f"{path.name}.part")
        drawn.savefig(part, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
        yield part.replace(path)


def _draw(title: str, panel: Panel | Distribution) -> Any:
    figure = optional("matplotlib.figure", "plots").Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for number, line in enumerate(panel.lines):
        color, marker = charts.look_of(number, _MARKERS)
        axes.plot(line.sizes, line.values, label=line.label, color=color, marker=marker)
    if isinstance(panel, Distribution):
        axes.set(xscale="log", xlabel=_TIME, ylabel=panel.share)
    else:
        _scale(axes, panel)
    axes.set_title(f"{panel.title}\n{title}", fontsize="medium")
    axes.grid(alpha=0.2)
    axes.legend(fontsize="small")
    return figure


def _scale(axes: Any, panel: Panel) -> None:
    axis, unit = panel.metric.row.axis, panel.metric.row.unit
    is_bytes = axis is Axis.BYTES
    axes.set_yscale("log")
    if is_bytes:
        axes.set_xscale("log", base=2)
    labels = [panel.label(size) if is_bytes else str(size) for size in panel.sizes]
    axes.set_xticks(panel.sizes, labels, rotation=45 if is_bytes else 0)
    axes.yaxis.set_major_formatter(lambda value, _: with_unit(value, unit, digits=1))
    axes.yaxis.set_minor_formatter(lambda *_: "")
    axes.set_xlabel(axis)
    axes.set_ylabel("median time" if not is_bytes and unit != "1" else panel.title.lower())
