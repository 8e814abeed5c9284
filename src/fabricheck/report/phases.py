"""What a benchmark's folder adds to the page (its module ``page``): panels of lines, and tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from fabricheck.measures.metrics import Metric, point_label
from fabricheck.measures.part import Part
from fabricheck.measures.registry import parts
from fabricheck.report.run import Run
from fabricheck.units import amount


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one case, in the unit of its metric, by rising size."""

    label: str
    sizes: tuple[float, ...]
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
            f"{line.label} from {amount(line.values[0], unit)} at {self.label(line.sizes[0])} to "
            f"{amount(line.values[-1], unit)} at {self.label(line.sizes[-1])}"
            for line in self.lines
        ]
        return f"{self.title}: {'; '.join(ends)}"

    @property
    def sizes(self) -> list[float]:
        """Every size that a line has."""
        return sorted({size for line in self.lines for size in line.sizes})

    def label(self, size: float) -> str:
        """How a size is called on the axis."""
        return point_label(self.metric, int(size))


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many of a hundred ended by a time: the sizes of its lines are milliseconds."""

    name: str
    title: str
    lines: tuple[Line, ...]

    @property
    def words(self) -> str:
        """The panel for those who can't see it: the ends of each line."""
        ends = [
            f"{line.label} from {line.values[0]:.4g} % at {line.sizes[0]:.4g} ms to "
            f"{line.values[-1]:.4g} % at {line.sizes[-1]:.4g} ms"
            for line in self.lines
        ]
        return f"{self.title}: {'; '.join(ends)}"


@dataclass(frozen=True, slots=True)
class Table:
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
    table: Table | None = None


class Page(Protocol):
    """What ``page.py`` of a program's folder offers."""

    def figures(self, run: Run) -> Iterable[PhaseFigure]:
        """Its figures of a run."""


PAGE = Part("page", Page)


def phase_figures(run: Run) -> tuple[PhaseFigure, ...]:
    """The figures of a run, of all folders that have some."""
    return tuple(figure for page in parts(PAGE) for figure in page.figures(run))
