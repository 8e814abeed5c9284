"""How a point of a curve is called: by its message size, or by the order of its matrices."""

import re

from fabricheck.benchmarks.metrics import Axis, axis_of
from fabricheck.units import format_size, parse_size

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
