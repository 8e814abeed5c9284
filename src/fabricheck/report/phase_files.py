"""Figures of benchmarks' folders as files: one SVG and one PNG for each panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabricheck.errors import FabricheckError, optional
from fabricheck.measures.metrics import Axis
from fabricheck.report.canvas import SERIES_COLORS
from fabricheck.report.phases import Distribution, Panel, PhaseFigure
from fabricheck.units import with_unit

_MARKERS = ("o", "s", "v", "h", "D", "*")
_INCHES = (6.4, 4.4)
_DOTS_PER_INCH = 150
# The same run gives the same bytes: no date, and no random names inside the SVG.
_METADATA = {"svg": {"Date": None}, "png": {"Software": None}}
_STYLE: dict[Any, Any] = {"svg.hashsalt": "fabricheck", "svg.fonttype": "none"}


def write_phases(figures: Sequence[PhaseFigure], directory: Path) -> list[Path]:
    """Write every panel into a directory, which is made if need be; the files that were written.

    Raises:
        FabricheckError: if there is nothing to draw, or a file cannot be written.
    """
    mpl = optional("matplotlib", "plots")
    if not figures:
        raise FabricheckError(
            "expected values of a matrix multiplication, or of MPI on GPUs, in the record, found "
            "none: run the check MpiMatmul or CudaMpi first, or leave out --plots"
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
            f"cannot write the plots into {directory}: {error.strerror or error}; name a directory "
            "that is writable and has space"
        ) from error


def _write(title: str, panel: Panel | Distribution, directory: Path) -> list[Path]:
    drawn = _draw(title, panel)
    paths = []
    for form, metadata in _METADATA.items():
        path = directory / f"{panel.name}.{form}"
        part = path.with_name(f"{path.name}.part")
        drawn.savefig(part, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
        part.replace(path)
        paths.append(path)
    return paths


def _draw(title: str, panel: Panel | Distribution) -> Any:
    figure = optional("matplotlib.figure", "plots").Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for number, line in enumerate(panel.lines):
        axes.plot(
            line.sizes,
            line.values,
            label=line.label,
            color=SERIES_COLORS[number % len(SERIES_COLORS)],
            marker=_MARKERS[number % len(_MARKERS)],
        )
    if isinstance(panel, Distribution):
        axes.set_xscale("log")
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("share that ended by then (%)")
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
    axes.set_xticks(
        panel.sizes,
        [panel.label(size) if is_bytes else str(size) for size in panel.sizes],
        rotation=45 if is_bytes else 0,
    )
    axes.yaxis.set_major_formatter(lambda value, _: with_unit(value, unit, digits=1))
    axes.yaxis.set_minor_formatter(lambda *_: "")
    axes.set_xlabel(axis)
    axes.set_ylabel("median time" if not is_bytes and unit != "1" else panel.title.lower())
