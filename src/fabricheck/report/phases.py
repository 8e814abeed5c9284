"""The phases of matrix multiplications against the order of the matrices: what is drawn of them.

One figure for each partition, mode and number of ranks, one panel for each phase, one line for each
MPI and placement: so "Performance Analysis of MPI Over Cluster" shows them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS as MATMUL_BENCHMARKS
from fabricheck.benchmarks.mpi_matmul.entries import PHASES
from fabricheck.report.model import Case, Run

_TITLES = {
    "total": "Whole multiplication",
    "transfer_a": "Transfer of A",
    "broadcast_b": "Broadcast of B",
    "compute": "Compute",
    "transfer_c": "Transfer of C",
}

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
    """The figures of a run; those of multiplications that gave no values are left out."""
    places: dict[tuple[str, str, str], list[Case]] = {}
    for case in run.cases:
        name = case.benchmark
        if name in MATMUL_BENCHMARKS:
            places.setdefault((case.system, case.partition, name), []).append(case)
    order = list(MATMUL_BENCHMARKS)
    keys = sorted(places, key=lambda key: (key[0], key[1], order.index(key[2])))
    figures = (_figure(*key, places[key]) for key in keys)
    return tuple(figure for figure in figures if figure.panels)


def _figure(system: str, partition: str, name: str, cases: list[Case]) -> PhaseFigure:
    benchmark = MATMUL_BENCHMARKS[name]
    title = f"{system}:{partition}, {benchmark.ranks} ranks, {benchmark.mode}"
    slug = re.sub(r"[^a-z0-9_]+", "-", f"phases-{system}-{partition}-{name}".lower())
    panels = (
        Panel(f"{slug}-{phase}", _TITLES[phase], phase.row.unit, tuple(_lines(cases, phase)))
        for phase in PHASES
    )
    return PhaseFigure(title, tuple(panel for panel in panels if panel.lines))


def _lines(cases: list[Case], phase: str) -> Iterator[Line]:
    for case in cases:
        found = sorted(
            (sample.size, sample.value)
            for sample in case.samples
            if (sample.metric, sample.statistic) == (phase, "p50")
            and sample.size is not None
            and sample.value
        )
        if found:
            orders, values = zip(*found, strict=True)
            yield Line(f"{case.environ} {case.placement}", orders, values)
