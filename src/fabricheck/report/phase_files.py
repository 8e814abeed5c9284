"""The phases of matrix multiplications as files: one SVG and one PNG for each panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fabricheck.benchmarks.quantity import with_unit
from fabricheck.errors import FabricheckError
from fabricheck.report.canvas import SERIES_COLORS
from fabricheck.report.phases import AXIS, Panel, PhaseFigure

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
    if not figures:
        raise FabricheckError(
            "expected values of a matrix multiplication in the record, found none: run the check "
            "MpiMatmul first, or leave out --plots"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
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


def _write(title: str, panel: Panel, directory: Path) -> list[Path]:
    with mpl.rc_context(_STYLE):
        drawn = _draw(title, panel)
        paths = []
        for form, metadata in _METADATA.items():
            path = directory / f"{panel.name}.{form}"
            part = path.with_name(f"{path.name}.part")
            drawn.savefig(part, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
            part.replace(path)
            paths.append(path)
    return paths


def _draw(title: str, panel: Panel) -> Figure:
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for number, line in enumerate(panel.lines):
        axes.plot(
            line.orders,
            line.values,
            label=line.label,
            color=SERIES_COLORS[number % len(SERIES_COLORS)],
            marker=_MARKERS[number % len(_MARKERS)],
        )
    orders = sorted({order for line in panel.lines for order in line.orders})
    axes.set_yscale("log")
    axes.set_xticks(orders, [str(order) for order in orders])
    axes.yaxis.set_major_formatter(lambda value, _: with_unit(value, panel.unit, digits=1))
    axes.yaxis.set_minor_formatter(lambda *_: "")
    axes.set_xlabel(AXIS)
    axes.set_ylabel("median time")
    axes.set_title(f"{panel.title}\n{title}", fontsize="medium")
    axes.grid(alpha=0.2)
    axes.legend(fontsize="small")
    return figure
