"""Curves of ``mpi_probe``, which measures what OSU's programs do."""

from collections.abc import Mapping
from typing import Any

from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.gpu import Path, program_name
from fabricheck.measures.program_result import ProgramResult
from fabricheck.measures.registry import REGISTRY, next_size
from fabricheck.programs.cuda_mpi.entries import benchmark_name


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run.

    Raises:
        ParseError: if the registry has no such benchmark, or if sizes are missing between others.
    """
    memory, path = result.options.get("buffer", "host"), result.options.get("path", Path.AWARE)
    name = benchmark_name(result.benchmark, memory, path)
    known = {n: e for n, e in REGISTRY.items() if isinstance(e, MpiBenchmark) and e.in_probe}
    benchmark = known.get(name)
    if benchmark is None:
        result.refuse(f"unknown benchmark {name!r} of mpi_probe: known are {', '.join(known)}")
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
        if path == Path.STAGED:
            _need_copies(result, each, size * iterations)
        points.append(Point(size, values, iterations, each.get("valid")))
    return Curve(
        benchmark=benchmark.name,
        program=program_name("mpi_probe", result.metadata()),
        version=result.version,
        datatype=result.environment.get("datatype"),
        metadata=result.metadata(),
        points=tuple(points),
        is_whole=True,
    )


def _need_copies(result: ProgramResult, found: Mapping[str, Any], payload: int) -> None:
    """The first rank, which sends in every benchmark, has copied all that it sent to the host."""
    copied = result.need(found, "copied_out", int)
    if copied < payload:
        result.refuse(
            f"expected {payload} B or more copied from the GPU at size {found['size']} on the "
            f"staged path, found {copied}: MPI got other memory"
        )
