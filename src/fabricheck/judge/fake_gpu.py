"""Values of a GPU that is host memory: shown, and held against nothing."""

from fabricheck.benchmarks.gpu import FAKE_DEVICE, is_fake
from fabricheck.judge.levels import Level
from fabricheck.judge.verdict import Subject, Verdict, judge_values


def unjudged(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict, or none where the GPU was a fake: no reference is for such values."""
    if not is_fake(subject.curve.program):
        return verdict
    without = judge_values(subject.curve.variables(), {}, None)
    told = f"measured on {FAKE_DEVICE!r}, a driver for tests: the values say nothing of a GPU"
    return Verdict(Level.NO_REFERENCE, without.judgements, (told,))
