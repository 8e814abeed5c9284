"""Figures that a benchmark's folder adds to the page (its module ``page``), in panels of lines."""

from dataclasses import dataclass

from fabricheck.benchmarks.registry import parts
from fabricheck.report.model import Run

AXIS = "order of the matrices"


@dataclass(frozen=True, slots=True)
class Line:
    """The medians of one case, in the unit of the phases, by rising order of the matrices."""

    label: str
    orders: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One phase; ``name`` is that of its element on the page and of its file."""

    name: str
    title: str
    unit: str
    lines: tuple[Line, ...]

    @property
    def words(self) -> str:
        """The panel for those who can't see it: the ends of each line."""
        ends = [
            f"{line.label} from {line.values[0]:.4g} {self.unit} at N {line.orders[0]} to "
            f"{line.values[-1]:.4g} {self.unit} at N {line.orders[-1]}"
            for line in self.lines
        ]
        return f"{self.title}: {'; '.join(ends)}"


@dataclass(frozen=True, slots=True)
class PhaseFigure:
    """All phases of one mode on one number of ranks of a partition."""

    title: str
    panels: tuple[Panel, ...]


def phase_figures(run: Run) -> tuple[PhaseFigure, ...]:
    """The figures of a run, of all folders that have some."""
    return tuple(figure for page in parts("page") for figure in page.figures(run))
