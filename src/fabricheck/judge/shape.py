"""What the form of a curve tells without any reference."""

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.registry import UNITS, Metric, find
from fabricheck.judge.wording import amount, size_ranges, times
from fabricheck.units import format_size

_ROBUST_FIRST = ("p50", "avg")


def falling_latency(curve: Curve, noise: float | None) -> tuple[str, ...]:
    """Sentences on sizes that are faster than a smaller size by more than the noise.

    A latency is compared with the greatest of all smaller sizes: with noise 0.3, a size is
    reported when the peak before it took more than 1.3 times as long. The median is looked at
    where there is one, since one interrupted iteration moves the average.

    Args:
        curve: a measured curve; only latencies have this shape.
        noise: fraction; ``None`` if the shape is not to be checked.
    """
    if noise is None or Metric.LATENCY not in find(curve.benchmark).metrics:
        return ()
    for statistic in _ROBUST_FIRST:
        series = {
            point.size: point.values[Metric.LATENCY, statistic]
            for point in curve.points
            if point.size is not None and (Metric.LATENCY, statistic) in point.values
        }
        if series:
            return _falls(f"{Metric.LATENCY}_{statistic}", series, noise)
    return ()


def _falls(name: str, series: dict[int, float], noise: float) -> tuple[str, ...]:
    sizes = list(series)
    peak = sizes[0]
    below: dict[int, list[int]] = {}
    for size in sizes:
        if series[size] >= series[peak]:
            peak = size
        elif series[peak] > series[size] * (1 + noise):
            below.setdefault(peak, []).append(size)
    unit = UNITS[Metric.LATENCY]
    return tuple(
        f"{name} falls with the size: {format_size(top)} takes {amount(series[top], unit)}, "
        f"but {size_ranges(fallen, sizes)} only "
        f"{amount(min(series[size] for size in fallen), unit)} at the least, beyond the allowed "
        f"noise of {times(1 + noise)}"
        for top, fallen in below.items()
    )
