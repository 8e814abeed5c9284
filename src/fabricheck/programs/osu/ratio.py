"""How many times slower one placement is than another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricheck.errors import FabricheckError
from fabricheck.launch.ratio import Ratio
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.metrics import Metric


@dataclass(frozen=True, slots=True)
class LatencyRatio(Ratio):
    """Median latencies, the slower one over the faster one.

    Attributes:
        sizes: in bytes.
    """

    sizes: Sequence[int]

    def divide(self, upper: Curve, lower: Curve) -> dict[int, float]:
        """The ratio of the medians at each size."""
        return {size: _median(upper, size) / _median(lower, size) for size in self.sizes}

    def values(self, ratios: Mapping[int, float]) -> dict[Variable, float | None]:
        """One value for each size."""
        return {Variable(Metric.RATIO, "p50", size): ratios.get(size) for size in self.sizes}


def _median(curve: Curve, size: int) -> float:
    median = Variable(Metric.LATENCY, "p50", size)
    values = curve.variables()
    if median not in values:
        raise FabricheckError(
            f"FC1205 expected {median} of {curve.benchmark}, found none: let that case measure "
            "this size, or compare at others"
        )
    return values[median][0]
