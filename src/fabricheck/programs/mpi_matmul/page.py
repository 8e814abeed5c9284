"""The phases of matrix multiplications against the order of the matrices: what is drawn of them.

One figure for each partition, mode and number of ranks, one panel for each phase, one line for each
MPI and placement: so "Performance Analysis of MPI Over Cluster" shows them. On GPUs both paths of
the data are in one figure, with the ratio of their whole times.
"""

from collections.abc import Iterator

from fabricheck.measures.gpu import GpuPath
from fabricheck.measures.metrics import Metric
from fabricheck.programs.mpi_matmul.entries import (
    BENCHMARKS,
    MatrixMultiplication,
    benchmark_name,
)
from fabricheck.report.phases import Panel, PhaseFigure, PhaseLine, line_of, slug
from fabricheck.report.run import ReportedCase, ReportedRun

_TITLES = {
    Metric.TOTAL: "Whole multiplication",
    Metric.TRANSFER_A: "Transfer of A",
    Metric.BROADCAST_B: "Broadcast of B",
    Metric.COPY_IN: "Copies to the GPU",
    Metric.COMPUTE: "Compute",
    Metric.COPY_OUT: "Copies from the GPU",
    Metric.TRANSFER_C: "Transfer of C",
}


_RATIO = "Staged over aware, whole multiplication"
_HOST = {"rc_cuda": "rc", "tcp_cuda": "tcp", "cuda_ipc": "shm"}
"""What moves host memory between the same places."""


def figures(run: ReportedRun) -> tuple[PhaseFigure, ...]:
    """The figures of a run; those of multiplications that gave no values are left out."""
    order = list(BENCHMARKS)
    places: dict[tuple[str, str, int, str], list[ReportedCase]] = {}
    for case in sorted(run.cases, key=lambda case: (case.system, case.partition)):
        if benchmark := BENCHMARKS.get(case.benchmark):
            what = "GPUs" if benchmark.path else ""
            first = min(order.index(name) for name in _beside(benchmark))
            places.setdefault((case.system, case.partition, first, what), []).append(case)
    found = (_figure(*key, cases) for key, cases in sorted(places.items()))
    return tuple(figure for figure in found if figure.panels)


def _beside(benchmark: MatrixMultiplication) -> list[str]:
    """The benchmarks of its figure: those of both paths."""
    mode, ranks = benchmark.mode, benchmark.ranks
    return [benchmark_name(mode, ranks, path) for path in (GpuPath if benchmark.path else (None,))]


def _figure(
    system: str, partition: str, first: int, what: str, cases: list[ReportedCase]
) -> PhaseFigure:
    benchmark = list(BENCHMARKS.values())[first]
    title = f"{system}:{partition}, {benchmark.ranks} ranks, {benchmark.mode}"
    if what:
        title += f", {what}"
    name = benchmark_name(benchmark.mode, benchmark.ranks).replace(
        "_", f"_{what}_" if what else "_", 1
    )
    start = slug("phases", system, partition, name)
    panels = [
        Panel(f"{start}-{phase}", words, phase, tuple(_lines(cases, phase)))
        for phase, words in _TITLES.items()
    ]
    panels.append(Panel(f"{start}-ratio", _RATIO, Metric.VARIATION, tuple(_ratios(cases))))
    return PhaseFigure(title, tuple(panel for panel in panels if panel.lines))


def _lines(cases: list[ReportedCase], phase: str) -> Iterator[PhaseLine]:
    for case in cases:
        path = BENCHMARKS[case.benchmark].path
        label = f"{case.environ} {case.placement}{f' {path}' if path else ''}"
        yield from line_of(case, label, phase, "p50")


def _ratios(cases: list[ReportedCase]) -> Iterator[PhaseLine]:
    """Both paths between the same places, by the same MPI."""
    of_path = [(BENCHMARKS[case.benchmark].path, case) for case in cases]
    staged = {
        (case.environ, case.placement): _totals(case)
        for path, case in of_path
        if path is GpuPath.STAGED
    }
    for path, case in of_path:
        device, _, rest = case.placement.partition("-")
        host = staged.get((case.environ, f"{_HOST.get(device)}-{rest}"), {})
        aware = _totals(case)
        if path is GpuPath.AWARE and (orders := tuple(sorted(host.keys() & aware))):
            ratios = tuple(host[order] / aware[order] for order in orders)
            yield PhaseLine(f"{case.environ} {case.placement}", orders, ratios)


def _totals(case: ReportedCase) -> dict[float, float]:
    (line,) = [*line_of(case, "", Metric.TOTAL, "p50")] or [PhaseLine("", (), ())]
    return dict(zip(line.sizes, line.values, strict=True))
