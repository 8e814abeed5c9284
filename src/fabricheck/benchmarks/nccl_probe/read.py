"""Curves of ``nccl_probe``."""

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.gpu import program_name
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.nccl_probe.entries import (
    BENCHMARKS,
    PROGRAM,
    SHARED,
    benchmark_name,
)
from fabricheck.benchmarks.program_result import ProgramResult

_STATISTICS = {"bus_bandwidth": Metric.BANDWIDTH, "time": Metric.LATENCY}


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run, its sizes the bytes of a rank's buffer.

    Raises:
        ParseError: if the registry has no such benchmark, or sizes don't rise.
    """
    del name
    scheme = result.options.get("scheme")
    benchmark = benchmark_name(result.benchmark, str(scheme))
    if benchmark not in BENCHMARKS:
        result.refuse(
            f"unknown benchmark: {result.benchmark} with scheme {scheme}; known are "
            f"{', '.join(BENCHMARKS)}"
        )
    points: list[Point] = []
    for each in result.results:
        size = result.need(each, "size", int)
        if points and size <= (points[-1].size or 0):
            result.refuse(
                f"expected a size above {points[-1].size}, found {size}: results are repeated or "
                "out of order"
            )
        values = dict(
            value
            for field, metric in _STATISTICS.items()
            for value in result.values(each, field, metric)
        )
        iterations = result.need(each, "iterations", int)
        points.append(Point(size, values, iterations, each.get("valid")))
    return Curve(
        benchmark=benchmark,
        program=program_name(PROGRAM, result.metadata()),
        version=result.version,
        datatype=None,
        metadata={**result.metadata(), SHARED: str(result.options.get("share_gpu", False))},
        points=tuple(points),
        is_whole=True,
    )


RESULTS = {PROGRAM: curve}
