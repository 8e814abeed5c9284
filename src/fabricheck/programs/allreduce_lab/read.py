"""Curves of ``allreduce_lab``: one point, with the times of each scheme."""

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.allreduce_lab.entries import BENCHMARKS, PROGRAM

LEAST_BYTES = "Least bytes"
"""Metadata: what each rank sent at least."""


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run.

    Raises:
        ParseError: if it is not one of the benchmark, or if a scheme of that is missing.
    """
    entry = BENCHMARKS.get(name)
    if entry is None:
        result.refuse(
            f"expected the name of the benchmark (--benchmark) with results of {PROGRAM}, which "
            f"name no model, found {name or 'none'}: name one of {', '.join(BENCHMARKS)}"
        )
    what = "training" if entry.model else "allreduce"
    ran = [each.get("scheme") for each in result.results]
    named = (what, entry.tail, [str(scheme) for scheme in entry.schemes])
    seen = (result.benchmark, result.options.get("tail"), ran)
    if named != seen:
        result.refuse(
            f"expected {name}, which is {named[0]} with p99/p50 of {named[1]} by "
            f"{', '.join(named[2])}, found {seen[0]} with {seen[1]} by {', '.join(map(str, ran))}"
        )
    ranks = int(result.environment["ranks"])
    values: dict[tuple[Metric, str], float] = {}
    least = 0.0
    for row in result.results:
        scheme = Metric(row["scheme"])
        values |= dict(result.values(row, "time", scheme))
        count = result.need(row, "iterations", int)
        least += 2 * (ranks - 1) / ranks * result.need(row, "size", int) * count
        if row.get("valid") is not True:
            unchecked = row.get("sums_unchecked")
            unproved = f"{unchecked} of which nothing was compared" if unchecked else "none"
            result.refuse(f"expected checked sums of {scheme}, found {unproved}")
        if scheme is Metric.OPTIREDUCE:
            values |= dict(result.values(row, "loss", Metric.ERROR_RATIO))
        elif entry.metrics == (Metric.TAIL,):
            values |= dict(result.values(row, "tail", Metric.TAIL))
    point = Point(None, values, min(row["iterations"] for row in result.results), valid=True)
    return result.curve(name, [point], **{LEAST_BYTES: f"{least:.0f}"})


RESULTS = {PROGRAM: curve}
