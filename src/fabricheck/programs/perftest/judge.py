"""The share of a link that perftest's bandwidths reach."""

from fabricheck.judge.levels import worst
from fabricheck.judge.link_rate import Link, Rate, ceiling, fills_link, judge_share, read_rate
from fabricheck.judge.verdict import Subject, Verdict
from fabricheck.measures.curve import Curve
from fabricheck.programs.perftest.entries import BENCHMARKS
from fabricheck.programs.perftest.table import CONNECTION, LINK, MTU


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict with the share of the link that a curve uses which should fill it."""
    rate = read_rate(subject.extras)
    if rate is None or not fills_link(subject.curve):
        return verdict
    level, finding = judge_share(subject.curve, ceilings(subject.curve, rate), rate)
    if not finding:
        return verdict
    return Verdict(worst([verdict.level, level]), verdict.judgements, (*verdict.findings, finding))


def ceilings(curve: Curve, rate: Rate) -> dict[int, float]:
    """The most payload that the link can carry at each size, in MB/s."""
    return {
        point.size: ceiling(
            rate.gigabits,
            point.size,
            int(curve.metadata[MTU]),
            Link(curve.metadata[LINK]),
            datagram=curve.metadata[CONNECTION] == "UD",
            directions=2 if "-b" in BENCHMARKS[curve.benchmark].options else 1,
        )
        for point in curve.points
        if point.size is not None
    }
