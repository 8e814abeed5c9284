"""What a curve tells as a whole, whatever its single sizes are compared with."""

from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.metrics import Direction, Metric, size_ranges
from fabricheck.measures.registry import find
from fabricheck.units import amount, format_size, times

_ROBUST_FIRST = ("p50", "avg")
_LARGE = 16
"""A bandwidth is a path's from this fraction of the largest message on: what is smaller fits, all
messages of a test together, into the buffers in front of a slow link."""


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
            return _falls(Variable(Metric.LATENCY, statistic), series, noise)
    return ()


def poor_best(curve: Curve, best: float | None) -> tuple[str, ...]:
    """A sentence on a curve that is poor at every size, even at its best one.

    A machine that is busy now and then spoils one size or the other; what limits the path itself,
    such as a link that was throttled or a detour, spoils them all. Of a bandwidth the large sizes
    count, from a sixteenth of the largest on.

    Args:
        curve: a measured curve.
        best: what its best size must reach, in the unit of the benchmark's first metric; ``None``
            if that is not to be checked.
    """
    if best is None:
        return ()
    metric = find(curve.benchmark).metrics[0]
    lower = metric.row.direction is Direction.LOWER
    smallest = 0 if lower else max(point.size or 0 for point in curve.points) / _LARGE
    for statistic in _ROBUST_FIRST:
        series = {
            point.values[metric, statistic]: point.size
            for point in curve.points
            if (metric, statistic) in point.values and (point.size or 0) >= smallest
        }
        if not series:
            continue
        found = min(series) if lower else max(series)
        if found > best if lower else found < best:
            return (_told(Variable(metric, statistic), found, series[found], best, lower=lower),)
        return ()
    return ()


def _told(name: Variable, found: float, size: int | None, best: float, *, lower: bool) -> str:
    unit = name.metric.row.unit
    at = "" if size is None else f" (at {format_size(size)})"
    if lower:
        return (
            f"{name} is {amount(found, unit)} at the least{at}, expected {amount(best, unit)} or "
            "less at some size: every message is held up on its way: look for a detour, queues "
            "and busy CPUs"
        )
    return (
        f"{name} is {amount(found, unit)} at the most{at}, expected {amount(best, unit)} or more "
        "at some large size: something limits the path: look at the rate of the link, at shaping "
        "and congestion"
    )


def _falls(name: Variable, series: dict[int, float], noise: float) -> tuple[str, ...]:
    sizes = list(series)
    peak = sizes[0]
    below: dict[int, list[int]] = {}
    for size in sizes:
        if series[size] >= series[peak]:
            peak = size
        elif series[peak] > series[size] * (1 + noise):
            below.setdefault(peak, []).append(size)
    unit = Metric.LATENCY.row.unit
    return tuple(
        f"{name} falls with the size: {format_size(top)} takes {amount(series[top], unit)}, "
        f"but {size_ranges(Metric.LATENCY, fallen, sizes)} only "
        f"{amount(min(series[size] for size in fallen), unit)} at the least, beyond the allowed "
        f"noise of {times(1 + noise)}"
        for top, fallen in below.items()
    )
