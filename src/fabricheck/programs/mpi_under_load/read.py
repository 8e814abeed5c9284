"""Curves of ``mpi_under_load``."""

from collections.abc import Mapping
from typing import Any

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.mpi_under_load.entries import BENCHMARKS, PROGRAM


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run.

    Raises:
        ParseError: if sizes don't rise, nothing was carried, or there is no such benchmark.
    """
    benchmark = f"{result.benchmark}_under_load"
    if benchmark not in BENCHMARKS:
        result.refuse(f"unknown benchmark {benchmark!r}: known are {', '.join(BENCHMARKS)}")
    points = [_point(result, each) for each in result.results]
    sizes = [point.size or 0 for point in points]
    if sizes != sorted(set(sizes)):
        result.refuse("expected rising sizes: results are lost, repeated or out of order")
    return result.curve(benchmark, points)


RESULTS = {PROGRAM: curve}


def _point(result: ProgramResult, each: Mapping[str, Any]) -> Point:
    size = result.need(each, "size", int)
    values = {
        **dict(result.values(each, "idle", Metric.IDLE_LATENCY)),
        **dict(result.values(each, "loaded", Metric.LOADED_LATENCY)),
        **dict(result.values(each, "load", Metric.LOAD_RATE)),
    }
    for statistic in ("p50", "p99"):
        ratio = result.need(each, f"ratio_{statistic}", int, float)
        values[Metric.LOAD_RATIO, statistic] = ratio
    if values[Metric.LOAD_RATE, "avg"] <= 0:
        result.refuse(f"expected a load at {size} B, found that none was carried")
    return Point(size, values, result.need(each, "iterations", int), each.get("valid"))
