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
IN_WORDS = (
    "Sums in several networks: how many of them other traffic hit; how many times as long a ring "
    "takes on average as OptiReduce, in milliseconds for each; p99 over p50 of both; how near "
    "OptiReduce is to the most that any scheme could gain there, its own median; and what it lost "
    "or skipped. Of a small network that learns by the sums: how much sooner it knows half, beside "
    "the ring's, what it knows in the end, and how far the ranks' replicas are apart."
)
KEY = (
    "Seconds for each iteration of a training, as in the OptiReduce benchmarking guide, with how "
    "many times as long as the best scheme, and the loss of OptiReduce. Below, how many of a "
    "hundred sums ended by a time."
)
_MILLI = 1e3
_SHARES = (Metric.ERROR_RATIO, Metric.SKIPPED, Metric.ACCURACY, Metric.DRIFT)
_NETWORKS = (
    *("Sums", "Hit", "Ring/OptiReduce, ms", "Ring p99/p50", "OptiReduce p99/p50"),
    *("Of the most", "Half sooner", "Loss", "Skipped", "Accuracy", "Drift"),
)


def figures(run: ReportedRun) -> tuple[PhaseFigure, ...]:
    """Two for each partition: trainings, and networks; those without values are left out."""
    places: dict[str, list[tuple[Lab, ReportedCase]]] = {}
    for case in run.cases:
        if case.benchmark in BENCHMARKS:
            place = f"{case.system}:{case.partition}, {case.num_nodes} nodes"
            places.setdefault(place, []).append((BENCHMARKS[case.benchmark], case))
    return tuple(
        figure
        for place, pairs in sorted(places.items())
        for figure in _figures(place, pairs)
        if figure.panels or figure.table
    )


def _figures(place: str, pairs: list[tuple[Lab, ReportedCase]]) -> Iterator[PhaseFigure]:
    order = list(BENCHMARKS)
    pairs = sorted(pairs, key=lambda pair: order.index(pair[0].name))
    rows = tuple(row for lab, case in pairs if lab.model and (row := _row(lab, case)))
    head = ("Model", "Env", *TITLES.values(), "Loss", "Skipped")
    panels = tuple(
        panel
        for lab, case in pairs
        if not lab.model and lab.metrics != (Metric.TAIL,) and (panel := _panel(place, lab, case))
    )
    yield PhaseFigure(place, panels, KEY, PhaseTable(head, rows) if rows else None)
    rows = tuple(
        row
        for lab, case in pairs
        if not lab.model and lab.metrics != (Metric.TAIL,) and (row := _network_row(lab, case))
    )
    yield PhaseFigure(place, (), IN_WORDS, PhaseTable(_NETWORKS, rows) if rows else None)


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
    return (
        *(MODELS[lab.model].title, f"{lab.network.tail:g}", *cells),
        *(_share(case, each) for each in (Metric.ERROR_RATIO, Metric.SKIPPED)),
    )


def _value(case: ReportedCase, metric: Metric, statistic: str = "avg") -> float | None:
    found = case.find(metric, statistic, None)
    return None if found is None else found.value


def _share(case: ReportedCase, metric: Metric) -> str:
    found = _value(case, metric)
    return "-" if found is None else f"{100 * found:.2f} %"


def _over(upper: float | None, lower: float | None) -> str:
    return f"{upper / lower:.2f}" if upper and lower else "-"


def _network_row(lab: Lab, case: ReportedCase) -> tuple[str, ...] | None:
    """A network, and what sums are like in it."""
    ring, bounded = (_value(case, each) for each in (Metric.RING, Metric.OPTIREDUCE))
    if ring is None or bounded is None:
        return None
    tails = [_value(case, Metric.RING, "p99"), _value(case, Metric.RING, "p50")]
    ratio = _over(_value(case, Metric.RATIO), 1.0)
    return (
        *(lab.title, _share(case, Metric.HIT)),
        f"{_MILLI * ring:.3g}/{_MILLI * bounded:.3g} = {ring / bounded:.2f}",
        *(_over(*tails), _over(_value(case, Metric.TAIL), 1.0)),
        *(("-", ratio) if lab.learns else (ratio, "-")),
        *(_share(case, each) for each in _SHARES),
    )


def _panel(place: str, lab: Lab, case: ReportedCase) -> Distribution | None:
    """The distribution of the times of sums, one line for each scheme."""
    lines = tuple(_lines(case))
    title = f"{lab.title}; OptiReduce lost {_share(case, Metric.ERROR_RATIO)}"
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
