"""The guide's table of seconds for each iteration, and how the times of sums are distributed."""

from collections.abc import Iterator

from fabricheck.measures.metrics import Metric
from fabricheck.programs.allreduce_lab.entries import (
    BENCHMARKS,
    MODELS,
    PERCENTILES,
    SCHEMES,
    Lab,
)
from fabricheck.report.phases import Distribution, PhaseFigure, PhaseLine, PhaseTable, slug
from fabricheck.report.run import ReportedCase, ReportedRun

TITLES = {
    Metric.RING: "Ring",
    Metric.BCUBE: "BCube",
    Metric.TAR_TCP: "TAR+TCP",
    Metric.OPTIREDUCE: "OptiReduce",
}
KEY = (
    "Seconds for each iteration of a training, as in the OptiReduce benchmarking guide, with how "
    "many times as long as the best scheme, and the loss of OptiReduce. Below, how many of a "
    "hundred sums ended by a time."
)
_MILLI = 1e3


def figures(run: ReportedRun) -> tuple[PhaseFigure, ...]:
    """One figure for each partition; those without values are left out."""
    places: dict[str, list[tuple[Lab, ReportedCase]]] = {}
    for case in run.cases:
        if case.benchmark in BENCHMARKS:
            place = f"{case.system}:{case.partition}, {case.num_nodes} nodes"
            places.setdefault(place, []).append((BENCHMARKS[case.benchmark], case))
    found = (_figure(place, pairs) for place, pairs in sorted(places.items()))
    return tuple(figure for figure in found if figure.panels or figure.table)


def _figure(place: str, pairs: list[tuple[Lab, ReportedCase]]) -> PhaseFigure:
    order = list(BENCHMARKS)
    pairs = sorted(pairs, key=lambda pair: order.index(pair[0].name))
    rows = tuple(row for lab, case in pairs if lab.model and (row := _row(lab, case)))
    head = ("Model", "Env", *TITLES.values(), "Loss")
    panels = tuple(
        panel
        for lab, case in pairs
        if not lab.model and lab.metrics != (Metric.TAIL,) and (panel := _panel(place, lab, case))
    )
    return PhaseFigure(place, panels, KEY, PhaseTable(head, rows) if rows else None)


def _row(lab: Lab, case: ReportedCase) -> tuple[str, ...] | None:
    """Model, environment, each scheme's seconds, and the loss."""
    found = [case.find(scheme, "avg", None) for scheme in SCHEMES]
    times = [each.value for each in found if each is not None and each.value]
    if len(times) != len(SCHEMES):
        return None
    best = min(times)
    cells = [
        f"{time:.3g} s (best)" if time == best else f"{time:.3g} s ({time / best:.2f}x)"
        for time in times
    ]
    return (MODELS[lab.model].title, f"{lab.tail:g}", *cells, _loss(case))


def _loss(case: ReportedCase) -> str:
    loss = case.find(Metric.ERROR_RATIO, "avg", None)
    return "-" if loss is None or loss.value is None else f"{100 * loss.value:.2f} %"


def _panel(place: str, lab: Lab, case: ReportedCase) -> Distribution | None:
    """The distribution of the times of sums, one line for each scheme."""
    lines = tuple(_lines(case))
    title = f"{lab.title}; OptiReduce lost {_loss(case)}"
    return Distribution(slug("phases", place, lab.name), title, lines) if lines else None


def _lines(case: ReportedCase) -> Iterator[PhaseLine]:
    for scheme in SCHEMES:
        found = [
            (_MILLI * sample.value, float(percent))
            for percent in PERCENTILES
            if (sample := case.find(scheme, f"p{percent}", None)) is not None and sample.value
        ]
        if found:
            times, shares = zip(*found, strict=True)
            yield PhaseLine(TITLES[scheme], times, shares)
