"""What held in each row of the OptiReduce guide's table must hold wherever one is measured."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fabricheck.judge.levels import Level, worst
from fabricheck.judge.verdict import Subject, Verdict
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.programs.allreduce_lab.entries import BENCHMARKS, SCHEMES


class Fact(NamedTuple):
    """One scheme that takes no longer than another."""

    shorter: Metric
    longer: Metric


_OF_BCUBE = tuple(Fact(each, Metric.BCUBE) for each in (Metric.RING, Metric.TAR_TCP))
FACTS = (
    *(Fact(Metric.OPTIREDUCE, each) for each in (Metric.RING, Metric.BCUBE, Metric.TAR_TCP)),
    *_OF_BCUBE,
    Fact(Metric.TAR_TCP, Metric.RING),
)
"""OptiReduce takes least, BCube most, and TAR+TCP less than Ring: in all twelve rows."""
_GUIDE_RANKS = 8
"""With fewer, BCube's rounds are so few that a network with a tail delays it less than a ring."""


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict with each fact that does not hold.

    Partition extra that is read: ``allreduce_lab.noise``, the share by which one scheme may miss.
    """
    if not BENCHMARKS[subject.curve.benchmark].model:
        return verdict
    noise = subject.extras.allreduce_lab.noise
    few = int(subject.curve.metadata["ranks"]) < _GUIDE_RANKS
    facts = [each for each in FACTS if not few or each not in _OF_BCUBE]
    found = missed(averages(subject.curve), facts, noise)
    levels = [verdict.level, *[Level.CRITICAL] * len(found)]
    return Verdict(worst(levels), verdict.judgements, (*found, *verdict.findings))


def averages(curve: Curve) -> Mapping[Metric, float]:
    """Seconds of an iteration by each scheme."""
    (point,) = curve.points
    return {each: point.values[each, "avg"] for each in SCHEMES}


def missed(
    averages: Mapping[Metric, float], facts: Iterable[Fact] = FACTS, noise: float = 0.0
) -> tuple[str, ...]:
    """A sentence for each fact that does not hold.

    Args:
        averages: seconds of an iteration by each scheme.
        facts: those that are asked for.
        noise: the share by which the shorter one may be longer.
    """
    return tuple(
        f"expected an iteration to take no longer with {fact.shorter} than with {fact.longer}, as "
        f"in every row of the guide's table, found {averages[fact.shorter]:.4g} and "
        f"{averages[fact.longer]:.4g} s"
        for fact in facts
        if averages[fact.shorter] > averages[fact.longer] * (1 + noise)
    )
