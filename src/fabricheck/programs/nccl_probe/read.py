"""Curves of ``nccl_probe``; of an iteration of a training one point."""

from itertools import chain

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.allreduce_lab.entries import MODELS
from fabricheck.programs.nccl_probe.entries import (
    BENCHMARKS,
    PROGRAM,
    SHARED,
    benchmark_name,
)
from fabricheck.programs.nccl_probe.nccl_tests import curves, is_output, parse

__all__ = ["BYTES", "RESULTS", "curve", "curves", "is_output", "parse"]

BYTES = "Bytes"
"""Metadata: what a rank sums in an iteration of a training."""

_STATISTICS = {"bus_bandwidth": Metric.BANDWIDTH, "time": Metric.LATENCY}


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run, its sizes the bytes of a rank's buffer.

    Raises:
        ParseError: if the registry has no such benchmark, or sizes don't rise.
    """
    if result.options.get("buckets"):
        return _iteration(result, name)
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
        fields = (result.values(each, *field) for field in _STATISTICS.items())
        values = dict(chain.from_iterable(fields))
        iterations = result.need(each, "iterations", int)
        points.append(Point(size, values, iterations, each.get("valid")))
    return result.curve(benchmark, points, **_shared(result))


def _iteration(result: ProgramResult, name: str) -> Curve:
    """The one point of a training, whose other traffic and model the caller knows."""
    (row,) = result.results
    scheme, size = result.options.get("scheme"), result.need(row, "size", int)
    trainings = [each for each in BENCHMARKS.values() if each.model and each.scheme == scheme]
    known = [each.name for each in trainings if sum(MODELS[each.model].buckets) == size]
    if name not in known:
        result.refuse(
            f"expected the name of the benchmark (--benchmark) whose buckets are {size} B in "
            f"NCCL's {scheme}, found {name or 'none'}: name one of {', '.join(known)}"
        )
    values = dict(result.values(row, "time", BENCHMARKS[name].metrics[0]))
    point = Point(None, values, result.need(row, "iterations", int), row.get("valid"))
    return result.curve(name, [point], **_shared(result), **{BYTES: str(size)})


def _shared(result: ProgramResult) -> dict[str, str]:
    return {SHARED: str(result.options.get("share_gpu", False))}


RESULTS = {PROGRAM: curve}
