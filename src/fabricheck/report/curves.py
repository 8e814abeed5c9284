"""The curves of a run, grouped as they are drawn: one group for each benchmark and placement."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fabricheck.measures.registry import REGISTRY
from fabricheck.record.entries import Sample
from fabricheck.report.matrix import Column, Matrix
from fabricheck.report.run import ReportedCase

PRIMARY = ("p50", "avg")
"""The statistic that stands for a metric, in order of preference: its bounds are drawn."""


_MOST: Final = 16
"""Cases of a group that are shown: more curves in a chart are no curves any more."""


@dataclass(frozen=True, slots=True)
class Group:
    """Cases of one benchmark at one placement, one for each environment as a rule.

    ``anchor`` names the group in the page's links. Of hundreds, as where each card has a case,
    ``cases`` are the worst, and ``more`` says what became of the others.
    """

    anchor: str
    benchmark: str
    placement: str
    placement_words: str
    cases: tuple[ReportedCase, ...]
    more: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that any of the cases measured, in the registry's order."""
        found = dict.fromkeys(sample.metric for case in self.cases for sample in case.samples)
        return tuple(metric for metric in REGISTRY[self.benchmark].metrics if metric in found)

    def statistics(self, metric: str) -> tuple[str, ...]:
        """Statistics of the metric, the primary one first."""
        found = dict.fromkeys(
            s.statistic for case in self.cases for s in case.samples if s.metric == metric
        )
        order = [*PRIMARY, *found]
        return tuple(sorted(found, key=order.index))

    def sizes(self, metric: str) -> tuple[int | None, ...]:
        """Message sizes in bytes in rising order; (None,) for a benchmark without payload."""
        found = {s.size for case in self.cases for s in case.samples if s.metric == metric}
        return tuple(sorted(found, key=lambda size: -1 if size is None else size))

    def name(self, case: ReportedCase) -> str:
        """The environment of a case, and its check where several have that."""
        several = sum(each.environ == case.environ for each in self.cases) > 1
        return f"{case.environ}, {case.check}" if several else case.environ

    def unit(self, metric: str) -> str:
        """Unit of the metric as recorded."""
        return next(s.unit for case in self.cases for s in case.samples if s.metric == metric)


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: a statistic of a case over the message sizes, values present only."""

    case: ReportedCase
    statistic: str
    samples: tuple[Sample, ...]


def groups(matrix: Matrix) -> tuple[Group, ...]:
    """Groups with a value, in the order of the matrix: by benchmark, then by placement."""
    return tuple(
        Group(
            anchor=anchor(row.benchmark, column, matrix),
            benchmark=row.benchmark,
            placement=column.placement,
            placement_words=_words(column, matrix),
            cases=_worst(cases)[:_MOST],
            more=_counted(_worst(cases)[_MOST:]),
        )
        for row in matrix.rows
        for column in _placements(matrix)
        if measured(cases := _cases(matrix, row.benchmark, column))
    )


def _worst(cases: tuple[ReportedCase, ...]) -> tuple[ReportedCase, ...]:
    """The cases, of more than are shown the worst first."""
    if len(cases) <= _MOST:
        return cases
    return tuple(sorted(cases, key=lambda case: -case.status.severity))


def _counted(cases: Iterable[ReportedCase]) -> str:
    counts = Counter(str(case.status) for case in cases)
    return ", ".join(f"{number} {status}" for status, number in counts.items())


def measured(cases: Iterable[ReportedCase]) -> bool:
    """Whether any of the cases has a value."""
    return any(sample.value is not None for case in cases for sample in case.samples)


def anchor(benchmark: str, column: Column, matrix: Matrix) -> str:
    """Name of the group that holds a cell of the matrix."""
    where = (column.system, column.partition) if matrix.several_partitions else ()
    return "-".join(["curve", *(_slug(part) for part in (benchmark, *where, column.placement))])


def series(group: Group, metric: str) -> tuple[Series, ...]:
    """The lines of the group's chart of that metric, sizes rising; without empty ones."""
    lines = []
    for case in group.cases:
        for statistic in group.statistics(metric):
            samples = sorted(_plottable(case.samples, metric, statistic), key=lambda s: s.size or 0)
            if samples:
                lines.append(Series(case, statistic, tuple(samples)))
    return tuple(lines)


def _plottable(samples: Iterable[Sample], metric: str, statistic: str) -> list[Sample]:
    """Samples that a log-log chart can show; the table shows all of them."""
    return [
        sample
        for sample in samples
        if (sample.metric, sample.statistic) == (metric, statistic)
        and sample.size
        and (sample.value or 0) > 0
    ]


def _placements(matrix: Matrix) -> Sequence[Column]:
    """One column for each placement, whatever the environment."""
    found = {(c.system, c.partition, c.placement): c for c in reversed(matrix.columns)}
    return list(reversed(found.values()))


def _cases(matrix: Matrix, benchmark: str, place: Column) -> tuple[ReportedCase, ...]:
    where = (place.system, place.partition, place.placement)
    return tuple(
        case
        for column in matrix.columns
        if (column.system, column.partition, column.placement) == where
        for case in matrix.cells.get((benchmark, column), ())
    )


def _words(column: Column, matrix: Matrix) -> str:
    prefix = f"{column.system}:{column.partition}, " if matrix.several_partitions else ""
    return prefix + column.placement_words


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", text.lower())
