"""Judging whole curves, and sets of values, against references."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from fabricheck.judge.findings import group, missing_variables
from fabricheck.judge.judgement import Judgement, judge_value
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.reference import Reference, Tolerance, is_lower_better
from fabricheck.judge.shape import falling_latency, poor_best
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.gpu import FAKE_DEVICE, is_fake
from fabricheck.measures.part import Part
from fabricheck.sites.extras import PartitionExtras

__all__ = ["JUDGE", "Judgement", "Subject", "Verdict", "judge_curve", "judge_value", "judge_values"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on a curve or a set of values.

    Attributes:
        level: the worst of all judgements and findings.
        judgements: one for each variable.
        findings: all that is not good: a curve that is poor at every size, then worst first and
            one sentence for each series of neighbouring sizes, then variables that were not
            measured, then the curve's shape.
    """

    level: Level
    judgements: tuple[Judgement, ...]
    findings: tuple[str, ...]

    def warned(self, remarks: tuple[str, ...]) -> "Verdict":
        """The verdict with remarks, each of which is worth a warning."""
        levels = [self.level, *[Level.WARNING] * len(remarks)]
        return Verdict(worst(levels), self.judgements, self.findings + remarks)


class Subject(NamedTuple):
    """A curve that is judged, with its tolerance, and what the site says of its partition."""

    curve: Curve
    tolerance: Tolerance | None
    extras: PartitionExtras = PartitionExtras()
    features: Collection[str] = ()


class Judge(Protocol):
    """What ``judge.py`` of a program's folder offers."""

    def refine(self, verdict: Verdict, subject: Subject) -> Verdict:
        """The verdict, with what a curve of the program must look like beside the references."""


JUDGE = Part("judge", Judge)


def judge_curve(
    curve: Curve,
    references: Mapping[Variable, Reference],
    tolerance: Tolerance | None,
) -> Verdict:
    """Judge every variable of a curve, and its shape.

    Args:
        curve: what was measured.
        references: references by variable.
        tolerance: when to warn.

    Raises:
        FabricheckError: if the unit of a reference is not that of the curve.
    """
    verdict = judge_values(curve.variables(), references, tolerance)
    if tolerance is None:
        return verdict
    shape = falling_latency(curve, tolerance.monotone)
    poor = poor_best(curve, tolerance.best)
    levels = [verdict.level, *[Level.WARNING] * len(shape), *[Level.CRITICAL] * len(poor)]
    return Verdict(worst(levels), verdict.judgements, poor + verdict.findings + shape)


def judge_values(
    values: Mapping[Variable, tuple[float, str]],
    references: Mapping[Variable, Reference],
    tolerance: Tolerance | None,
) -> Verdict:
    """Judge values, each with its unit, by variable.

    A reference whose variable was not measured is critical: what should have been judged is not
    there. References that have expired are a warning.

    Raises:
        FabricheckError: if the unit of a reference is not that of the value.
    """
    judgements = tuple(
        _judge(variable, value, unit, references.get(variable))
        for variable, (value, unit) in values.items()
    )
    missing = missing_variables([name for name in references if name not in values])
    expired = _expired(tolerance)
    levels = [judgement.level for judgement in judgements]
    levels += [Level.CRITICAL] * bool(missing) + [Level.WARNING] * len(expired)
    return Verdict(worst(levels), judgements, group(judgements) + missing + expired)


def _judge(variable: Variable, value: float, unit: str, reference: Reference | None) -> Judgement:
    if reference is None:
        return judge_value(variable, value, unit, None)
    (lower, upper), edge = reference.warning, reference.good
    if edge is not None:
        # The band's edge holds on its own side.
        lower, upper = (lower, None) if is_lower_better(variable) else (None, upper)
    return judge_value(variable, value, unit, reference, (lower, upper), good=edge)


def _expired(tolerance: Tolerance | None) -> tuple[str, ...]:
    if tolerance is None or not tolerance.expired:
        return ()
    return (f"the references have expired: {tolerance.expired}; propose new ones",)


_FAKE = f"measured on {FAKE_DEVICE!r}, a driver for tests: the values do not describe a GPU"


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
