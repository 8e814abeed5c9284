"""A measured curve: one benchmark's metrics against the message size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from fabricheck.errors import FabricheckError
from fabricheck.measures.metrics import Metric, point_label, read_label
from fabricheck.measures.registry import find

_METRICS = "|".join(sorted(Metric, key=len, reverse=True))
_VARIABLE = re.compile(
    rf"(?P<metric>{_METRICS})_(?P<statistic>avg|min|max|rank_min|rank_max|p\d{{1,3}}(?:\.\d+)?|to\d\d)(?:_(?P<size>\w+))?",
    re.ASCII,
)


class Variable(NamedTuple):
    """What is measured: a performance variable, which has its name where text or ReFrame needs one.

    Attributes:
        metric: what is measured.
        statistic: of it, such as ``p50``.
        size: message size in bytes, or a matrix' order; ``None`` where there is none.
    """

    metric: Metric
    statistic: str
    size: int | None = None

    def __str__(self) -> str:
        """Its name; the size becomes a label.

        >>> str(Variable(Metric.LATENCY, "p50", 1024)), str(Variable(Metric.LATENCY, "avg"))
        ('latency_p50_1KiB', 'latency_avg')
        """
        name = f"{self.metric}_{self.statistic}"
        return name if self.size is None else f"{name}_{point_label(self.metric, self.size)}"

    @property
    def series(self) -> Self:
        """It at all sizes."""
        return self._replace(size=None)

    @classmethod
    def read(cls, name: str) -> Self:
        """The variable of a name.

        Raises:
            FabricheckError: if it is not a name of a variable.
        """
        match = _VARIABLE.fullmatch(name)
        if not match:
            raise FabricheckError(
                f"FC1101 expected a variable name such as latency_p50_1KiB, found {name!r}: write "
                f"METRIC_STATISTIC_SIZE with a metric of {', '.join(Metric)} and a statistic of "
                "avg, min, max, rank_min, rank_max, pNN, toNN"
            )
        size = read_label(match["metric"], match["size"]) if match["size"] else None
        variable = cls(Metric(match["metric"]), match["statistic"], size)
        if str(variable) != name:
            raise FabricheckError(
                f"FC1102 expected the variable name {variable}, found {name}: write its size with "
                "the largest unit that divides it"
            )
        return variable


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at one message size.

    Attributes:
        size: message size in bytes; ``None`` for a benchmark without payload (barrier).
        values: value for each (metric, statistic), in the metric's unit.
        iterations: how many iterations were timed, where the program reports it.
        valid: whether the received data was checked and right; ``None`` if it was not checked.
        segments: TCP segments of the first rank's node meanwhile, where the program reports them.
    """

    size: int | None
    values: Mapping[tuple[Metric, str], float]
    iterations: int | None = None
    valid: bool | None = None
    segments: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """The complete table of one run of a benchmark program.

    Attributes:
        benchmark: name in the registry.
        program: the program that measured it, such as ``osu`` or ``mpi_probe``.
        version: version of the program, without the leading ``v``.
        datatype: MPI datatype of the payload as printed, such as ``MPI_FLOAT``.
        metadata: the other ``# Key: value`` lines above the table.
        points: in the order of rising size.
        remarks: warnings of the program.
        is_whole: whether the output itself shows that nothing is missing at its end.
    """

    benchmark: str
    program: str
    version: str = ""
    datatype: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    points: tuple[Point, ...] = ()
    remarks: tuple[str, ...] = ()
    is_whole: bool = False

    def variables(self) -> dict[Variable, tuple[float, str]]:
        """Value and unit of each performance variable that is recorded and judged.

        Only the statistics that the registry lists for the benchmark are in it, in the order
        of the sizes: ``{latency_p50_8B: (1.97, "us"), ...}``.
        """
        recorded = find(self.benchmark).recorded
        return {
            Variable(metric, statistic, point.size): (value, metric.row.unit)
            for point in self.points
            for (metric, statistic), value in point.values.items()
            if (metric, statistic) in recorded
        }
