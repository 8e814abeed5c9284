"""The metrics: one row for each, with all that the suite knows of it, and names of their sizes."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Self

from fabricheck.units import MIB, format_size, parse_size


class Direction(StrEnum):
    """Which values of a metric are better."""

    LOWER = "lower"
    HIGHER = "higher"


class Axis(StrEnum):
    """What the sizes of a curve are."""

    BYTES = "message size"
    ORDER = "order of the matrices"


class MetricRow(NamedTuple):
    """What is known of a metric.

    Attributes:
        unit: as the programs print it; a MB is 10^6 bytes, as in OSU. A ratio has the unit 1:
            slower path over faster one, lost or marked packets over all, standard deviation over
            mean; so has the number of prerequisites that a node does not meet.
        direction: which values are better.
        is_compared: whether an acceptance compares values before and after. Shares and counts near
            zero, and ratios with bounds of their own, are judged by their levels alone.
        axis: what the sizes of its curves are.
        key_figures: statistic and size of the points that stand for a whole curve; without a size
            the largest that was measured.
    """

    unit: str
    direction: Direction
    is_compared: bool
    axis: Axis = Axis.BYTES
    key_figures: tuple[tuple[str, int | None], ...] = ()


_LOW, _HIGH = Direction.LOWER, Direction.HIGHER
_COMPARED, _BY_LEVEL = True, False


class Metric(StrEnum):
    """What a benchmark measures, as it stands in the record, with its ``row``."""

    row: MetricRow

    # The default is for type checkers only, which take Metric("latency") for a call of this.
    def __new__(
        cls, name: str, row: MetricRow = MetricRow("", Direction.LOWER, is_compared=False)
    ) -> Self:
        """The member of a name, with its row."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.row = row
        return member

    LATENCY = "latency", MetricRow("us", _LOW, _COMPARED, key_figures=(("p50", 8), ("p50", MIB)))
    BANDWIDTH = "bandwidth", MetricRow("MB/s", _HIGH, _COMPARED, key_figures=(("avg", MIB),))
    MESSAGE_RATE = (
        "message_rate",
        MetricRow("messages/s", _HIGH, _COMPARED, key_figures=(("avg", 8),)),
    )
    COMMUNICATION = "communication", MetricRow("us", _LOW, _COMPARED)
    COMPUTATION = "computation", MetricRow("us", _LOW, _BY_LEVEL)
    OVERLAP = "overlap", MetricRow("%", _HIGH, _BY_LEVEL)
    STARTUP = "startup", MetricRow("ms", _LOW, _COMPARED)
    LAUNCH = "launch", MetricRow("ms", _LOW, _COMPARED)
    TOTAL = "total", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    TRANSFER_A = "transfer_a", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    BROADCAST_B = "broadcast_b", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    COPY_IN = "copy_in", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    COMPUTE = "compute", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    COPY_OUT = "copy_out", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    TRANSFER_C = "transfer_c", MetricRow("us", _LOW, _COMPARED, Axis.ORDER, (("p50", None),))
    NCCL_RING = "nccl_ring", MetricRow("s", _LOW, _COMPARED)
    NCCL_TREE = "nccl_tree", MetricRow("s", _LOW, _COMPARED)
    RING = "ring", MetricRow("s", _LOW, _COMPARED)
    BCUBE = "bcube", MetricRow("s", _LOW, _COMPARED)
    TAR_TCP = "tar_tcp", MetricRow("s", _LOW, _COMPARED)
    OPTIREDUCE = "optireduce", MetricRow("s", _LOW, _COMPARED)
    TAIL = "tail", MetricRow("1", _LOW, _BY_LEVEL)
    VARIATION = "variation", MetricRow("1", _LOW, _BY_LEVEL, Axis.ORDER, (("p50", None),))
    RATIO = "ratio", MetricRow("1", _HIGH, _BY_LEVEL)
    LOADED_LATENCY = "loaded_latency", MetricRow("us", _LOW, _COMPARED, key_figures=(("p50", MIB),))
    IDLE_LATENCY = "idle_latency", MetricRow("us", _LOW, _COMPARED)
    LOAD_RATIO = "load_ratio", MetricRow("1", _LOW, _BY_LEVEL)
    LOAD_RATE = "load_rate", MetricRow("MB/s", _HIGH, _BY_LEVEL)
    CLOCK_SKEW = "clock_skew", MetricRow("us", _LOW, _BY_LEVEL)
    UNMET = "unmet", MetricRow("1", _LOW, _BY_LEVEL)
    ERROR_RATIO = "error_ratio", MetricRow("1", _LOW, _BY_LEVEL)
    HIT = "hit", MetricRow("1", _LOW, _BY_LEVEL)
    SKIPPED = "skipped", MetricRow("1", _LOW, _BY_LEVEL)
    DRIFT = "drift", MetricRow("1", _LOW, _BY_LEVEL)
    ACCURACY = "accuracy", MetricRow("1", _HIGH, _BY_LEVEL)
    CE_RATIO = "ce_ratio", MetricRow("1", _LOW, _BY_LEVEL)
    ECN_RATE = "ecn_rate", MetricRow("1/s", _LOW, _BY_LEVEL)
    PAUSE_RATE = "pause_rate", MetricRow("1/s", _LOW, _BY_LEVEL)


_ROWS: Mapping[str, MetricRow] = {metric.value: metric.row for metric in Metric}


def axis_of(name: str) -> Axis:
    """What the sizes of a metric are, by its name; bytes for a metric of another suite."""
    row = row_of(name)
    return row.axis if row else Axis.BYTES


def row_of(name: str) -> MetricRow | None:
    """The row of a metric by its name; ``None`` for a metric of another suite."""
    return _ROWS.get(name)


_ORDER = re.compile(r"N([1-9]\d{0,8})", re.ASCII)


def point_label(metric: str, size: int) -> str:
    """Label of a size of a metric, without spaces.

    >>> point_label("latency", 1048576), point_label("compute", 2000)
    ('1MiB', 'N2000')
    """
    return f"N{size}" if axis_of(metric) is Axis.ORDER else format_size(size)


def read_label(metric: str, label: str) -> int:
    """The size that ``point_label`` wrote for a metric.

    Raises:
        FabricheckError: if the label is none of a size.
    """
    if axis_of(metric) is Axis.ORDER and (match := _ORDER.fullmatch(label)):
        return int(match[1])
    return parse_size(label)


def size_label(size: int, metric: str = "") -> str:
    """A message size with a space before its IEC unit, or the order of matrices.

    >>> size_label(1048576)
    '1 MiB'
    >>> size_label(2000, "compute")
    'N 2000'
    """
    label = point_label(metric, size)
    if axis_of(metric) is Axis.ORDER:
        return f"N {label[1:]}"
    digits = label.rstrip("BKMGi")
    return f"{digits} {label[len(digits) :]}"


def size_ranges(metric: str, chosen: Sequence[int], every: Sequence[int]) -> str:
    """Chosen sizes of a metric, neighbours in the list of every measured size drawn together.

    >>> size_ranges("latency", [1024, 2048, 8192], [512, 1024, 2048, 4096, 8192])
    '1KiB..2KiB, 8KiB'
    """
    runs: list[list[int]] = []
    for position, size in enumerate(every):
        if size not in chosen:
            continue
        if position and runs and runs[-1][-1] == every[position - 1]:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(
        "..".join(point_label(metric, size) for size in dict.fromkeys((run[0], run[-1])))
        for run in runs
    )
