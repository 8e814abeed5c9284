"""The phases of matrix multiplications against the order of the matrices: what is drawn of them.

One figure for each partition, mode and number of ranks, one panel for each phase, one line for each
MPI and placement: so "Performance Analysis of MPI Over Cluster" shows them.
"""

import re
from collections.abc import Iterator

from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS
from fabricheck.report.phases import Line, Panel, PhaseFigure
from fabricheck.report.run import Case, Run

_TITLES = {
    "total": "Whole multiplication",
    "transfer_a": "Transfer of A",
    "broadcast_b": "Broadcast of B",
    "copy_in": "Copies to the GPU",
    "compute": "Compute",
    "copy_out": "Copies from the GPU",
    "transfer_c": "Transfer of C",
}


def figures(run: Run) -> tuple[PhaseFigure, ...]:
    """The figures of a run; those of multiplications that gave no values are left out."""
    places: dict[tuple[str, str, str], list[Case]] = {}
    for case in run.cases:
        name = case.benchmark
        if name in BENCHMARKS:
            places.setdefault((case.system, case.partition, name), []).append(case)
    order = list(BENCHMARKS)
    keys = sorted(places, key=lambda key: (key[0], key[1], order.index(key[2])))
    found = (_figure(*key, places[key]) for key in keys)
    return tuple(figure for figure in found if figure.panels)


def _figure(system: str, partition: str, name: str, cases: list[Case]) -> PhaseFigure:
    benchmark = BENCHMARKS[name]
    title = f"{system}:{partition}, {benchmark.ranks} ranks, {benchmark.mode}"
    if benchmark.path:
        title += f", GPUs, {benchmark.path}"
    slug = re.sub(r"[^a-z0-9_]+", "-", f"phases-{system}-{partition}-{name}".lower())
    panels = (
        Panel(f"{slug}-{phase}", _TITLES[phase], phase, tuple(_lines(cases, phase)))
        for phase in benchmark.phases
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
