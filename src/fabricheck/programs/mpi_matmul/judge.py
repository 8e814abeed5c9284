"""Phases that do not add up."""

from fabricheck.judge.verdict import Subject, Verdict, unjudged
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.programs.mpi_matmul.entries import STAGED_PHASES
from fabricheck.units import amount, share

_SHARE_APART = 0.05
_BARRIERS = 1000.0
"""Microseconds that the three barriers of a repetition may take, which are in the total alone."""


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict with what the phases say against each other.

    On nodes that share cores, ranks wait for one in every phase: there it says nothing.
    """
    if "shared_cores" not in subject.features:
        verdict = verdict.warned(apart(subject.curve))
    return unjudged(verdict, subject)


def apart(curve: Curve) -> tuple[str, ...]:
    """Sentences on orders whose phases do not add up to their total, averages with averages.

    Ranks that share a core begin their clock of a phase when they get the core, not when the phase
    begins: the phases then are too short, and tell nothing.
    """
    found = []
    for point in curve.points:
        if (Metric.TOTAL, "avg") not in point.values:
            continue
        total = point.values[Metric.TOTAL, "avg"]
        parts = (each for each in STAGED_PHASES if each is not Metric.TOTAL)
        phases = sum(point.values.get((each, "avg"), 0.0) for each in parts)
        if abs(total - phases) > _SHARE_APART * total + _BARRIERS:
            found.append(
                f"the phases of N {point.size} add up to {share(phases / total)} of the total, "
                f"{amount(total, Metric.TOTAL.row.unit)}: more ranks than cores, or other work on "
                "them, so the phases are not meaningful"
            )
    return tuple(found)
