"""Values of a GPU that is host memory: shown, and held against nothing."""

from fabricheck.benchmarks.gpu import FAKE_DEVICE, is_fake
from fabricheck.judge.levels import Level
from fabricheck.judge.verdict import Subject, Verdict, judge_values

_FAKE = f"measured on {FAKE_DEVICE!r}, a driver for tests: the values say nothing of a GPU"


def unjudged(verdict: Verdict, subject: Subject, why: str = "") -> Verdict:
    """The verdict, or none where no reference is for such values.

    Args:
        verdict: what references say.
        subject: what was measured.
        why: a sentence that says why the values say nothing; empty if they do. Those of a fake GPU
            never do.
    """
    told = _FAKE if is_fake(subject.curve.program) else why
    if not told:
        return verdict
    without = judge_values(subject.curve.variables(), {}, None)
    return Verdict(Level.NO_REFERENCE, without.judgements, (told,))
