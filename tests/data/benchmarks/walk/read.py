"""Reader of what walk prints: ``walk SIZE TIME`` for each size, in bytes and us."""

import re

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric

_ROW = re.compile(r"^walk (\d{1,9}) (\d{1,9}\.\d{1,3})$", re.MULTILINE | re.ASCII)


def is_output(text: str) -> bool:
    """Whether walk printed it."""
    return text.startswith("walk ")


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of one run."""
    del name
    rows = _ROW.findall(text)
    if len(rows) != len(text.splitlines()):
        raise ParseError(f"{source}: expected rows of walk only, found others")
    points = tuple(
        Point(int(size), {(Metric.LATENCY, "avg"): float(time)}, None, None) for size, time in rows
    )
    return Curve("walk", "walk", "1.0", None, {}, points)
