"""What curves of batches must look like, whatever their values are compared with."""

from itertools import pairwise

from fabricheck.judge.levels import Level
from fabricheck.judge.verdict import Subject, Verdict
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.programs.rdma_batch.entries import BENCHMARKS, Sweep
from fabricheck.programs.rdma_batch.in_turns import PARTS
from fabricheck.units import amount, format_size, times

_LATENCY = (Metric.LATENCY, "min")
_BANDWIDTH = (Metric.BANDWIDTH, "avg")
_US, _MB_PER_S = Metric.LATENCY.row.unit, Metric.BANDWIDTH.row.unit


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict with warnings on what sweeps of batches should never do."""
    entry = BENCHMARKS[subject.curve.benchmark]
    if (cards := subject.curve.metadata.get(PARTS)) and verdict.level is not Level.GOOD:
        return Verdict(verdict.level, verdict.judgements, (*verdict.findings, cards))
    if subject.tolerance is None or not isinstance(entry, Sweep):
        return verdict
    noise, by_batch = subject.tolerance.monotone, bool(entry.transfer)
    return verdict.warned(batch_shapes(subject.curve, noise, by_batch=by_batch))


def batch_shapes(curve: Curve, noise: float | None, *, by_batch: bool) -> tuple[str, ...]:
    """Sentences on what batches should never do, beyond the noise.

    The bandwidth should not fall while transfers or batches grow. The time of a batch should grow
    by no larger factor than its transfers: what all of them share is paid once.

    Args:
        curve: a sweep of ``rdma_batch``.
        noise: fraction; ``None`` if the shape is not to be checked.
        by_batch: whether the batch is swept, not the size of a transfer.
    """
    if noise is None:
        return ()
    return (*_falling(curve, noise), *(_superlinear(curve, noise) if by_batch else ()))


def _falling(curve: Curve, noise: float) -> list[str]:
    found = []
    best = curve.points[0]
    for point in curve.points:
        if point.values[_BANDWIDTH] >= best.values[_BANDWIDTH]:
            best = point
        elif best.values[_BANDWIDTH] > point.values[_BANDWIDTH] * (1 + noise):
            found.append(
                f"bandwidth falls with the size: {_at(best.size)} reaches "
                f"{amount(best.values[_BANDWIDTH], _MB_PER_S)}, but "
                f"{_at(point.size)} only "
                f"{amount(point.values[_BANDWIDTH], _MB_PER_S)}, beyond the allowed "
                f"noise of {times(1 + noise)}"
            )
    return found


def _superlinear(curve: Curve, noise: float) -> list[str]:
    return [
        f"the time of a batch grows faster than its transfers: {_at(before.size)} takes "
        f"{amount(before.values[_LATENCY], _US)}, {_at(after.size)} "
        f"{amount(after.values[_LATENCY], _US)}, beyond the allowed noise of "
        f"{times(1 + noise)}"
        for before, after in pairwise(curve.points)
        if after.values[_LATENCY] / before.values[_LATENCY]
        > (after.size or 0) / (before.size or 1) * (1 + noise)
    ]


def _at(size: int | None) -> str:
    return format_size(size or 0)
