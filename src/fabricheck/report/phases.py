"""Figures that a benchmark's folder adds to the page (its module ``page``), in panels of lines."""

from dataclasses import dataclass

from fabricheck.benchmarks.labels import point_label
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.registry import parts
from fabricheck.report.model import Run


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one case, in the unit of its metric, by rising size."""

    label: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric, or phase; ``name`` is that of its element on the page and of its file."""

    name: str
    title: str
    metric: Metric
    lines: tuple[Line, ...]

    @property
    def words(self) -> str:
        """The panel for those who can't see it: the ends of each line."""
        unit = self.metric.row.unit
        ends = [
            f"{line.label} from {line.values[0]:.4g} {unit} at {self.label(line.sizes[0])} to "
            f"{line.values[-1]:.4g} {unit} at {self.label(line.sizes[-1])}"
            for line in self.lines
        ]
        return f"{self.title}: {'; '.join(ends)}"

    @property
    def sizes(self) -> list[int]:
        """Every size that a line has."""
        return sorted({size for line in self.lines for size in line.sizes})

    def label(self, size: int) -> str:
        """How a size is called on the axis."""
        return point_label(self.metric, size)


@dataclass(frozen=True, slots=True)
class PhaseFigure:
    """Panels that belong together, such as all phases of a multiplication."""

    title: str
    panels: tuple[Panel, ...]


def phase_figures(run: Run) -> tuple[PhaseFigure, ...]:
    """The figures of a run, of all folders that have some."""
    return tuple(figure for page in parts("page") for figure in page.figures(run))
