"""How the latencies of a stress are spread: every block is counted, whenever it is asked."""

import bisect
import time
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from fabricheck.measures.metrics import Metric
from fabricheck.monitor.catalog import FAMILIES, Sample
from fabricheck.record.entries import CaseEntry

_SECOND: Final = 1e-6
_LATENCY: Final = FAMILIES["fabricheck_stress_block_latency_seconds"]
_GREATEST: Final = FAMILIES["fabricheck_stress_greatest_latency_seconds"]
EDGES: Final = tuple(
    float(f"{digit}e{power}") for power in range(-6, 2) for digit in (1, 2.5, 5)
)  # fmt: skip
"""Upper edges of the buckets in seconds: a microsecond to 50 seconds, at most 2.5 times apart."""
WINDOW: Final = 60.0
"""Seconds for which a block's slowest iteration is shown: longer than between two scrapes."""


class Spread:
    """The blocks of one operation, size and number of nodes."""

    def __init__(self) -> None:
        self._counts = [0] * (len(EDGES) + 1)
        self._sum = 0.0
        self._exemplars: dict[int, tuple[str, float, float]] = {}
        self._recent: deque[tuple[float, float]] = deque()

    def add(self, block: CaseEntry, values: Mapping[str, float]) -> None:
        """Count a block.

        Args:
            block: what was recorded of it.
            values: its latency in seconds by statistic.
        """
        average = values["avg"]
        bucket = bisect.bisect_left(EDGES, average)
        self._counts[bucket] += 1
        self._sum += average
        ended = datetime.fromisoformat(block.time).timestamp()
        if block.job:
            self._exemplars[bucket] = (block.job, average, ended)
        # What was recorded before this exporter began is counted, and is not recent.
        if ended > time.time() - 2 * WINDOW:
            self._recent.append((time.monotonic(), values.get("max", average)))

    def samples(self, labels: tuple[str, ...]) -> Iterator[Sample]:
        """Histogram and greatest, with these labels."""
        total = 0
        for bucket, count in enumerate(self._counts):
            total += count
            edge = repr(EDGES[bucket]) if bucket < len(EDGES) else "+Inf"
            seen = self._exemplars.get(bucket)
            yield Sample(_LATENCY, labels, total, "_bucket", edge, seen)
        yield Sample(_LATENCY, labels, self._sum, "_sum")
        yield Sample(_LATENCY, labels, total, "_count")
        while self._recent and self._recent[0][0] < time.monotonic() - WINDOW:
            self._recent.popleft()
        if self._recent:
            yield Sample(_GREATEST, labels, max(value for _, value in self._recent))


def by_size(block: CaseEntry) -> Mapping[tuple[str, ...], Mapping[str, float]]:
    """Latencies in seconds by statistic, of each size that has an average."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for each in block.samples:
        if each.metric == Metric.LATENCY and each.size is not None and each.value is not None:
            kind = (block.benchmark, str(each.size), str(block.num_nodes))
            found.setdefault(kind, {})[each.statistic] = each.value * _SECOND
    return {kind: values for kind, values in found.items() if "avg" in values}
