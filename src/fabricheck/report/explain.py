"""Sentences that say why a case is not good."""

from collections.abc import Mapping, Sequence
from typing import Any

from fabricheck.judge.levels import Level
from fabricheck.report.model import Sample
from fabricheck.report.quantity import with_unit
from fabricheck.report.status import Status

NAMED = 3


def explain(
    status: Status, entry: Mapping[str, Any], samples: Sequence[Sample], notes: Sequence[str]
) -> tuple[str, ...]:
    """Causes of the status, most telling first; empty for a good case.

    First the findings of the judgement, then the values outside their bounds, then what the record
    lacks (``notes``); ReFrame's own reason is told where nothing better is known.
    """
    if status is Status.GOOD:
        return ()
    findings = list(entry.get("findings") or ())
    known = findings + [text for name, text in _values(samples) if name not in " ".join(findings)]
    reason = " ".join((entry.get("fail_reason") or "").split())
    if reason and not known:
        phase = entry.get("fail_phase")
        known.append(f"in phase {phase}: {reason}" if phase else reason)
    known += notes
    if not known and status is Status.NOT_RUN:
        known.append("a test that it depends on failed (its build, as a rule)")
    return tuple(known) or (f"the record gives no cause (ReFrame result {entry['result']!r})",)


def named(names: Sequence[str]) -> str:
    """The first names, and dots where there are more."""
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def outside(sample: Sample) -> str:
    """The sample against the bound that it violates, as half a sentence."""
    if sample.value is None:
        return f"{sample.variable} has no figure"
    text = f"{sample.variable} is {with_unit(sample.value, sample.unit)}"
    critical = sample.level is Level.CRITICAL
    lower = sample.lower if critical else sample.warning_lower
    upper = sample.upper if critical else sample.warning_upper
    if upper is not None and sample.value > upper:
        return f"{text}, above the {sample.level} bound {with_unit(upper, sample.unit)}"
    if lower is not None and sample.value < lower:
        return f"{text}, below the {sample.level} bound {with_unit(lower, sample.unit)}"
    return f"{text}, level {sample.level}"


def _values(samples: Sequence[Sample]) -> list[tuple[str, str]]:
    """For each level that is not good, the first variable that has it, and a sentence."""
    sentences = []
    for level in (Level.CRITICAL, Level.WARNING):
        found = [sample for sample in samples if sample.level is level]
        if found:
            more = f" (and {len(found) - 1} more values)" if len(found) > 1 else ""
            sentences.append((found[0].variable, outside(found[0]) + more))
    unknown = [sample.variable for sample in samples if sample.level is Level.NO_REFERENCE]
    if unknown:
        text = f"{len(unknown)} of {len(samples)} values have no reference: {named(unknown)}"
        sentences.append((unknown[0], text))
    return sentences
