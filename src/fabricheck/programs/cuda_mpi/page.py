"""Both paths of the data of GPUs in one panel: what is drawn of them beside their own curves.

One figure for each partition and benchmark, one line for each MPI, memory, path and placement.
"""

from collections.abc import Iterator, Sequence

from fabricheck.measures.gpu import is_fake
from fabricheck.measures.metrics import Metric
from fabricheck.programs.cuda_mpi.entries import BENCHMARKS, GpuBenchmark
from fabricheck.programs.osu.entries import BENCHMARKS as OF_MPI
from fabricheck.report.phases import Panel, PhaseFigure, PhaseLine, line_of, slug
from fabricheck.report.run import ReportedCase, ReportedRun


def figures(run: ReportedRun) -> tuple[PhaseFigure, ...]:
    """The figures of a run; those of benchmarks that gave no values are left out."""
    places: dict[tuple[str, str, str], list[ReportedCase]] = {}
    for case in run.cases:
        if entry := BENCHMARKS.get(case.benchmark):
            places.setdefault((case.system, case.partition, entry.base), []).append(case)
    found = (_figure(*key, cases) for key, cases in sorted(places.items()))
    return tuple(figure for figure in found if figure.panels)


def _figure(system: str, partition: str, base: str, cases: Sequence[ReportedCase]) -> PhaseFigure:
    host = OF_MPI[base]
    name = slug("paths", system, partition, base)
    has_fake = any(is_fake(case.program) for case in cases)
    fake = ", measured on host memory in the place of GPUs" if has_fake else ""
    panels = (
        Panel(f"{name}-{metric}", f"{host.title}, {metric}", metric, tuple(_lines(cases, metric)))
        for metric in host.metrics
    )
    title = f"{system}:{partition}, {host.title} on memory of GPUs{fake}"
    return PhaseFigure(title, tuple(panel for panel in panels if panel.lines))


def _lines(cases: Sequence[ReportedCase], metric: Metric) -> Iterator[PhaseLine]:
    for case in cases:
        entry: GpuBenchmark = BENCHMARKS[case.benchmark]
        statistic = "p50" if "p50" in entry.statistics else "avg"
        label = f"{case.environ} {entry.memory} {entry.path} {case.placement}"
        yield from line_of(case, label, metric, statistic)
