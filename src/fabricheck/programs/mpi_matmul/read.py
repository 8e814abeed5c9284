"""Curves of ``mpi_matmul``, from the results of each phase of each order."""

from collections.abc import Mapping, Sequence
from typing import Any

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.mpi_matmul.entries import BENCHMARKS, PROGRAM, benchmark_name


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run, its sizes the orders of the matrices.

    Raises:
        ParseError: if a phase of an order is missing, or if the registry has no such benchmark.
    """
    mode, ranks = result.benchmark, result.environment["ranks"]
    path = result.options.get("path") if result.options.get("compute") == "gpu" else None
    benchmark = benchmark_name(mode, ranks, path)
    if benchmark not in BENCHMARKS:
        result.refuse(
            f"unknown benchmark: mode {mode} on {ranks} ranks; known are {', '.join(BENCHMARKS)}"
        )
    phases = BENCHMARKS[benchmark].phases
    measured = (*phases[1:], phases[0])
    points: list[Point] = []
    for start in range(0, len(result.results), len(measured)):
        group = result.results[start : start + len(measured)]
        order = result.need(group[0], "order", int)
        found = [(each.get("order"), each.get("phase")) for each in group]
        rises = not points or order > (points[-1].size or 0)
        if found != [(order, phase) for phase in measured] or not rises:
            result.refuse(
                f"N {order}: expected the phases {', '.join(measured)} of each order once, orders "
                "rising: results are lost, repeated or out of order"
            )
        points.append(_point(result, order, group, phases))
    return result.curve(benchmark, points)


RESULTS = {PROGRAM: curve}


def _point(
    result: ProgramResult,
    order: int,
    group: Sequence[Mapping[str, Any]],
    phases: Sequence[Metric],
) -> Point:
    by_phase = {each["phase"]: each for each in group}
    values = dict(
        value for phase in phases for value in result.values(by_phase[phase], "time", phase)
    )
    parts = [each for each in group if each["phase"] != Metric.TOTAL]
    # A single repetition has none.
    if not any(each.get("variation") is None for each in parts):
        values[Metric.VARIATION, "max"] = max(
            result.need(each, "variation", int, float) for each in parts
        )
    valid = [each.get("valid") for each in group]
    return Point(
        order,
        values,
        result.need(group[0], "iterations", int),
        None if None in valid else all(valid),
    )
