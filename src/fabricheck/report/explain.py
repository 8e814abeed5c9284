"""Sentences that say why a case is not good."""

from collections.abc import Sequence

from fabricheck.judge.levels import Level
from fabricheck.record.entries import Case, Sample
from fabricheck.report.status import Status
from fabricheck.units import with_unit

NAMED = 3


def explain(
    status: Status, case: Case, notes: Sequence[str], blockers: Sequence[str]
) -> tuple[str, ...]:
    """Causes of the status, most telling first; empty for a good case.

    First the findings of the judgement, or the values outside their bounds where it left none, then
    what the record lacks (``notes``), then what the case waited for in vain (``blockers``).
    ReFrame's own reason is told where nothing better is known.
    """
    if status is Status.GOOD:
        return ()
    known = list(case.findings or _values(case.samples))
    reason = " ".join(case.fail_reason.split())
    if reason and not known:
        known.append(f"in phase {case.fail_phase}: {reason}" if case.fail_phase else reason)
    known += notes
    if blockers and status in (Status.NOT_RUN, Status.DISTURBED):
        happened = "did not pass" if status is Status.NOT_RUN else "other work disturbed"
        known.append(f"it needs {named(blockers)}, which {happened}")
    return tuple(known) or (f"the record gives no cause (ReFrame result {case.result!r})",)


def named(names: Sequence[str]) -> str:
    """The first names, and dots where there are more."""
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def outside(sample: Sample) -> str:
    """The sample against the bound that it violates, as half a sentence."""
    if sample.value is None:
        return f"{sample.variable} has no figure"
    text = f"{sample.variable} is {with_unit(sample.value, sample.unit)}"
    critical = sample.level == Level.CRITICAL
    lower = sample.lower if critical else sample.warning_lower
    upper = sample.upper if critical else sample.warning_upper
    if upper is not None and sample.value > upper:
        return f"{text}, above the {sample.level} bound {with_unit(upper, sample.unit)}"
    if lower is not None and sample.value < lower:
        return f"{text}, below the {sample.level} bound {with_unit(lower, sample.unit)}"
    return f"{text}, level {sample.level}"


def _values(samples: Sequence[Sample]) -> list[str]:
    sentences = []
    for level in (Level.CRITICAL, Level.WARNING):
        found = [sample for sample in samples if sample.level == level]
        if found:
            more = f" (and {len(found) - 1} more values)" if len(found) > 1 else ""
            sentences.append(outside(found[0]) + more)
    unknown = [sample.variable for sample in samples if sample.level == Level.NO_REFERENCE]
    if unknown:
        text = f"{len(unknown)} of {len(samples)} values have no reference: {named(unknown)}"
        sentences.append(text)
    return sentences
