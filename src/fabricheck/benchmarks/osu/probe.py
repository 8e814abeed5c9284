"""Curves of ``mpi_probe``, which measures what OSU's programs do."""

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.osu.entries import PROBE_BENCHMARKS
from fabricheck.benchmarks.program_result import ProgramResult
from fabricheck.benchmarks.registry import next_size


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run.

    Raises:
        ParseError: if the registry has no such benchmark, or if sizes are missing between others.
    """
    del name
    benchmark = PROBE_BENCHMARKS.get(result.benchmark)
    if benchmark is None:
        result.refuse(
            f"unknown benchmark {result.benchmark!r} of mpi_probe: known are "
            f"{', '.join(PROBE_BENCHMARKS)}"
        )
    points: list[Point] = []
    for each in result.results:
        size = each.get("size") if benchmark.min_size is None else result.need(each, "size", int)
        if points and size != next_size(points[-1].size or 0):
            result.refuse(
                f"expected size {next_size(points[-1].size or 0)} after {points[-1].size}, found "
                f"{size}: results are missing, repeated or out of order"
            )
        values = dict(
            value
            for metric in benchmark.metrics
            for value in result.values(each, metric.value, metric)
        )
        iterations = result.need(each, "iterations", int)
        points.append(Point(size, values, iterations, each.get("valid")))
    return Curve(
        benchmark=benchmark.name,
        program="mpi_probe",
        version=result.version,
        datatype=result.environment.get("datatype"),
        metadata=result.metadata(),
        points=tuple(points),
        is_whole=True,
    )
