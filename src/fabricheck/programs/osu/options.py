"""How a program of the OSU Micro-Benchmarks is called.

Which options a program has depends on its family (``osu_util_options.h`` and ``osu_util.c`` of OSU
7.4); one that gets an option of another family prints its usage and measures nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.metrics import Metric

PERCENTILES = (50, 99, 100)
"""What is asked for of a latency: its middle, its tail and its worst. OSU takes whole numbers only,
and of the values in rising order the one at ``round(iterations * P / 100)``."""

WINDOW = 64
"""Messages in flight in each iteration of a bandwidth, OSU's default."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often OSU repeats an operation, at every size.

    Without them it repeats large messages less often, a collective above 8 KiB only 100 times: then
    its 99th percentile is one value.

    Attributes:
        iterations: how often the operation is timed (``-i``).
        warmup: how often it is done before (``-x``).
    """

    iterations: int
    warmup: int


_MESSAGES = Counts(1000, 100)
_WINDOWS = Counts(50, 5)
_COLLECTIVES = Counts(200, 20)
_WARMUP = 10

_OF_ALL_RANKS: Mapping[str, bool] = {
    "pt2pt": False,
    "one_sided": False,
    "congestion": False,
    "collective": True,
    "nonblocking": True,
    "neighborhood": True,
    "persistent": True,
}
"""Families with options, and whether they have ``-f``: averages of the fastest and slowest rank."""


def counts(benchmark: MpiBenchmark, iterations: int | None = None) -> Counts:
    """How often to repeat a benchmark.

    Args:
        benchmark: what to measure.
        iterations: what the site says instead, where OSU's programs take too long.
    """
    if iterations is not None:
        return Counts(iterations, max(1, iterations // _WARMUP))
    if Metric.BANDWIDTH in benchmark.metrics:
        return _WINDOWS
    return _COLLECTIVES if _OF_ALL_RANKS[benchmark.family] else _MESSAGES


def options(
    benchmark: MpiBenchmark, sizes: Sequence[int], iterations: int | None = None
) -> list[str]:
    """The arguments of a benchmark's OSU program.

    Args:
        benchmark: what to measure.
        sizes: message sizes in bytes, as ``sweep`` gives them; empty without payload.
        iterations: as for ``counts``.
    """
    if benchmark.family not in _OF_ALL_RANKS:
        return []
    repeated = counts(benchmark, iterations)
    words = ["-i", str(repeated.iterations), "-x", str(repeated.warmup)]
    if sizes:
        words += ["-m", f"{sizes[0]}:{sizes[-1]}"]
    if _OF_ALL_RANKS[benchmark.family]:
        words.append("-f")
    if "p50" in benchmark.statistics:
        # Its list must be attached: the argument is optional.
        words.append(f"-z{','.join(map(str, PERCENTILES))}")
    if benchmark.validates:
        words.append("-c")
    if benchmark.datatype:
        words += ["-T", benchmark.datatype]
    return words


def exchanges(
    benchmark: MpiBenchmark, sizes: Sequence[int], iterations: int | None = None
) -> dict[int | None, int]:
    """The least number of messages of each size that a rank sends or receives.

    OSU doesn't print the number of its iterations between pairs, which is as it was asked to.
    """
    repeated = 1
    if benchmark.family in _OF_ALL_RANKS:
        repeated = counts(benchmark, iterations).iterations
    each = WINDOW if Metric.BANDWIDTH in benchmark.metrics else 1
    return dict.fromkeys(sizes or (None,), repeated * each)
