"""Tables of sums, of what learns by them and of trainings, and lines over their times."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from fabricheck.measures.metrics import Metric
from fabricheck.programs.allreduce_lab.entries import (
    BENCHMARKS,
    KNOWN,
    MODELS,
    SCHEMES,
    Lab,
)
from fabricheck.report.phases import Distribution, PhaseFigure, PhaseLine, PhaseTable, slug
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.units import DIMENSIONLESS, amount

TITLES = {
    Metric.RING: "Ring",
    Metric.BCUBE: "BCube",
    Metric.TAR_TCP: "TAR+TCP",
    Metric.OPTIREDUCE: "OptiReduce",
}
SUMS = (
    "Hit: how many sums other traffic met. Gain: how many times as long a ring takes on average as "
    "OptiReduce; limit: the most that any scheme could gain there, as if no sum took longer than "
    "OptiReduce's median. Below, how many of a hundred sums ended by a time."
)
LEARNING = (
    "A small network learns by the sums: when it knew half of the tests with each scheme, how many "
    "times sooner that is with OptiReduce, and what it knew in the end. Drift: how far the ranks' "
    "replicas are apart, of the way they went. Below, its accuracy against the time of its sums."
)
TRAINING = (
    "Seconds for each iteration of a training, as in the OptiReduce benchmarking guide, with how "
    "many times as long as the best scheme, and the loss of OptiReduce."
)
_MILLI = 1e3
_LOST = (Metric.ERROR_RATIO, Metric.SKIPPED)
_HALF = f"to{KNOWN[-1]}"
_PAIR = (Metric.RING, Metric.OPTIREDUCE)
_NETWORK = ("Network", *(f"{TITLES[each]}, ms" for each in _PAIR))
_HARM = ("Loss", "Skipped")
_OF_SUMS = (*_NETWORK, "Gain", "Limit", "Hit", "p99/p50: ring", "OptiReduce", *_HARM)
_OF_LEARNING = (*_NETWORK, "Sooner", "Accuracy", "Drift", *_HARM)
_OF_TRAININGS = ("Model", "p99/p50", *TITLES.values(), *_HARM)


def figures(run: ReportedRun) -> tuple[PhaseFigure, ...]:
    """For each partition sums, what learns, and trainings; those without values are left out."""
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
    sums = [(lab, case) for lab, case in pairs if lab.curve and not lab.learns]
    yield _figure(f"Sums on {place}", SUMS, _OF_SUMS, sums, _sum_row)
    learning = [(lab, case) for lab, case in pairs if lab.learns]
    yield _figure(f"Learning on {place}", LEARNING, _OF_LEARNING, learning, _learning_row)
    trained = [(lab, case) for lab, case in pairs if lab.model]
    yield _figure(f"Trainings on {place}", TRAINING, _OF_TRAININGS, trained, _row)


def _figure(
    title: str,
    key: str,
    head: tuple[str, ...],
    pairs: list[tuple[Lab, ReportedCase]],
    row_of: Callable[[Lab, ReportedCase], tuple[str, ...] | None],
) -> PhaseFigure:
    panels = tuple(panel for lab, case in pairs if (panel := _panel(title, lab, case)))
    rows = tuple(row for lab, case in pairs if (row := row_of(lab, case)))
    return PhaseFigure(title, panels, key, PhaseTable(head, rows) if rows else None)


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
    return (MODELS[lab.model].title, f"{lab.network.tail:g}", *cells, *_shares(case, *_LOST))


def _value(case: ReportedCase, metric: Metric, statistic: str = "avg") -> float | None:
    found = case.find(metric, statistic, None)
    return None if found is None else found.value


def _shares(case: ReportedCase, *metrics: Metric) -> list[str]:
    found = [_value(case, each) for each in metrics]
    return ["-" if each is None else f"{100 * each:.2f} %" for each in found]


def _milli(seconds: float) -> str:
    return amount(_MILLI * seconds, DIMENSIONLESS)


def _times(value: float | None) -> str:
    return f"{value:.2f}" if value else "-"


def _sum_row(lab: Lab, case: ReportedCase) -> tuple[str, ...] | None:
    """A network, and what sums are like in it."""
    ring, bounded = (_value(case, each) for each in _PAIR)
    if not ring or not bounded:
        return None
    reached = _value(case, Metric.RATIO)
    tails = [_value(case, Metric.RING, each) for each in ("p99", "p50")]
    return (
        *(lab.network.title, _milli(ring), _milli(bounded)),
        *(_times(ring / bounded), _times(reached and ring / bounded / min(reached, 1.0))),
        *_shares(case, Metric.HIT),
        *(_times(tails[0] and tails[1] and tails[0] / tails[1]), _times(_value(case, Metric.TAIL))),
        *_shares(case, *_LOST),
    )


def _learning_row(lab: Lab, case: ReportedCase) -> tuple[str, ...] | None:
    """A network, and how a small one learns in it."""
    ring, bounded = (_value(case, each, _HALF) for each in _PAIR)
    if not ring or not bounded:
        return None
    return (
        *(lab.network.title, _milli(ring), _milli(bounded), _times(ring / bounded)),
        *_shares(case, Metric.ACCURACY, Metric.DRIFT, *_LOST),
    )


def _panel(place: str, lab: Lab, case: ReportedCase) -> Distribution | None:
    """The times of sums, or when a network knew how much: one line for each scheme."""
    lines = tuple(_lines(lab, case))
    [lost] = _shares(case, Metric.ERROR_RATIO)
    title = f"{lab.network.title}; OptiReduce lost {lost}"
    found = Distribution(slug("phases", place, lab.name), title[0].upper() + title[1:], lines)
    if lab.learns:
        found = replace(found, share="accuracy (%)", most=60)
    return found if lines else None


def _lines(lab: Lab, case: ReportedCase) -> Iterator[PhaseLine]:
    for scheme in SCHEMES:
        found = [
            (_MILLI * sample.value, float(percent))
            for name, percent in lab.curve.items()
            if (sample := case.find(scheme, name, None)) is not None and sample.value
        ]
        if found:
            times, shares = zip(*found, strict=True)
            yield PhaseLine(TITLES[scheme], times, shares)
