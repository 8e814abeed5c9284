"""Values that say nothing of GPUs or of links are held against nothing."""

from fabricheck.judge.verdict import Subject, Verdict, unjudged
from fabricheck.programs.nccl_probe.entries import SHARED

_SHARED = "several ranks on one GPU take turns: that NCCL works is shown, and nothing of its speed"


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict, or none where ranks shared a GPU."""
    shared = subject.curve.metadata[SHARED] == "True"
    return unjudged(verdict, subject, _SHARED if shared else "")
