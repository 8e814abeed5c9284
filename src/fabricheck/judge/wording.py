"""How values and ranges of sizes are written in findings."""

from collections.abc import Sequence

from fabricheck.benchmarks.labels import point_label

DIMENSIONLESS = "1"
_WHOLE_FROM = 10_000
_RATIO_WHOLE_FROM = 100


def amount(value: float, unit: str) -> str:
    """A value with its unit, four significant digits; a dimensionless one has unit ``1``."""
    digits = f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"
    return digits if unit == DIMENSIONLESS else f"{digits} {unit}"


def times(ratio: float) -> str:
    """A ratio such as ``3.2x``, three significant digits."""
    return f"{ratio:.0f}x" if ratio >= _RATIO_WHOLE_FROM else f"{ratio:.3g}x"


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
