"""A measured curve: one benchmark's metrics against the message size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fabricheck.errors import FabricheckError
from fabricheck.measures.metrics import Metric, point_label, read_label
from fabricheck.measures.registry import find

_METRICS = "|".join(sorted(Metric, key=len, reverse=True))
_VARIABLE = re.compile(
    rf"(?P<metric>{_METRICS})_(?P<statistic>avg|min|max|rank_min|rank_max|p\d{{1,3}}(?:\.\d+)?)(?:_(?P<size>\w+))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at one message size.

    Attributes:
        size: message size in bytes; ``None`` for a benchmark without payload (barrier).
        values: value for each (metric, statistic), in the metric's unit.
        iterations: how many iterations were timed, where the program says so.
        valid: whether the received data was checked and right; ``None`` if it was not checked.
    """

    size: int | None
    values: Mapping[tuple[Metric, str], float]
    iterations: int | None = None
    valid: bool | None = None


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

    def variables(self) -> dict[str, tuple[float, str]]:
        """Value and unit of each performance variable that is recorded and judged.

        Only the statistics that the registry lists for the benchmark are in it, in the order
        of the sizes: ``{"latency_p50_8B": (1.97, "us"), ...}``.
        """
        recorded = find(self.benchmark).recorded
        return {
            variable_name(metric, statistic, point.size): (value, metric.row.unit)
            for point in self.points
            for (metric, statistic), value in point.values.items()
            if (metric, statistic) in recorded
        }


def variable_name(metric: str, statistic: str, size: int | None) -> str:
    """Name of a performance variable; the size in bytes becomes a label such as ``1KiB``.

    >>> variable_name("latency", "p50", 1024), variable_name("latency", "avg", None)
    ('latency_p50_1KiB', 'latency_avg')
    """
    name = f"{metric}_{statistic}"
    return name if size is None else f"{name}_{point_label(metric, size)}"


def split_variable(name: str) -> tuple[Metric, str, int | None]:
    """Metric, statistic and size in bytes of a performance variable.

    Raises:
        FabricheckError: if it is not a name that ``variable_name`` gives.
    """
    match = _VARIABLE.fullmatch(name)
    if not match:
        raise FabricheckError(
            f"expected a variable name such as latency_p50_1KiB, found {name!r}: write "
            "METRIC_STATISTIC_SIZE with a metric of "
            f"{', '.join(Metric)} and a statistic of avg, min, max, rank_min, rank_max, pNN"
        )
    label = match["size"]
    size = None if label is None else read_label(match["metric"], label)
    if label is not None and size is not None and point_label(match["metric"], size) != label:
        raise FabricheckError(
            f"expected the size of variable {name!r} as {point_label(match['metric'], size)}, "
            f"found {label}: "
            "write it with the largest unit that divides it"
        )
    return Metric(match["metric"]), match["statistic"], size
