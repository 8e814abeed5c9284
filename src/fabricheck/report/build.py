"""From the attempts of a case in the record to its status, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from fabricheck.judge.levels import Level
from fabricheck.record import entries as record
from fabricheck.record.entries import Sample
from fabricheck.report.explain import explain, named
from fabricheck.report.run import Case
from fabricheck.report.status import Status

_LARGEST = 1e18
"""None of our measurements is as large in any unit."""

_NOT_RUN = {
    "skip": Status.SKIPPED,
    "abort": Status.ABORTED,
    "fail_deps": Status.NOT_RUN,
}
_FIELDS = tuple(each.name for each in fields(record.Case))
_FIGURES = ("value", "reference", "lower", "upper", "warning_lower", "warning_upper")


def build_case(attempts: Sequence[record.Case], blockers: Sequence[Case] = ()) -> Case:
    """The case of its attempts, the last of which counts.

    ``blockers`` are the tests that it depends on and that did not pass. Where other work disturbed
    them all, it did the case.
    """
    last = replace(attempts[-1], samples=tuple(map(_sample, attempts[-1].samples)))
    notes = [] if last.fixture else list(_omissions(last))
    status = _fixture_status(last) if last.fixture else _status(last, notes)
    if status is Status.NOT_RUN and {each.status for each in blockers} == {Status.DISTURBED}:
        status = Status.DISTURBED
    disturbed = [each for each in attempts[:-1] if each.level == Level.DISTURBED]
    # What it waited for in vain at first has a history of its own.
    waited = [each for each in attempts[:-1] if each.result == "fail_deps"]
    failed = [each for each in attempts[:-1] if each not in (*disturbed, *waited)]
    if earlier := [each.fail_reason or f"ReFrame result {each.result!r}" for each in failed]:
        notes.append(f"attempt {len(attempts)}; earlier: {'; '.join(earlier)}")
        if status is Status.GOOD and not last.fixture:
            status = Status.WARNING
    return Case(
        **{name: getattr(last, name) for name in _FIELDS},
        status=status,
        causes=explain(status, last, notes, [each.title for each in blockers]),
        disturbed_before=tuple(each.findings[0] for each in disturbed if each.findings),
    )


def _sample(sample: Sample) -> Sample:
    """A sample without figures that can be none, and without a level that is none."""
    odd = [name for name in _FIGURES if abs(getattr(sample, name) or 0) > _LARGEST]
    without: dict[str, Any] = dict.fromkeys(odd)
    if sample.level not in set(Level):
        without["level"] = ""
    return replace(sample, **without) if without else sample


def _omissions(case: record.Case) -> Iterator[str]:
    """What a case that says it was measured does not have."""
    if case.result not in ("pass", "fail"):
        return
    if not case.level and case.result == "pass":
        yield "the case carries no level: nobody judged it"
    elif case.level and case.level not in set(Level):
        yield f"the case carries the unknown level {case.level!r}"
    if case.level not in (Level.GOOD, Level.WARNING, Level.CRITICAL):
        return
    samples = case.samples
    missing = [sample.variable for sample in samples if sample.value is None]
    unjudged = [s.variable for s in samples if s.value is not None and not s.level]
    if not samples:
        yield "the case records no value at all"
    if missing:
        yield f"{len(missing)} of {len(samples)} values have no figure: {named(missing)}"
    if unjudged:
        yield f"{len(unjudged)} of {len(samples)} values carry no level: {named(unjudged)}"


def _fixture_status(case: record.Case) -> Status:
    if case.result == "pass":
        return Status.GOOD
    return _NOT_RUN.get(case.result, Status.BUILD_FAILED)


def _status(case: record.Case, notes: Sequence[str]) -> Status:
    if case.result not in ("pass", "fail"):
        return _NOT_RUN.get(case.result, Status.UNJUDGED)
    if case.level not in set(Level):
        return Status.UNJUDGED if case.result == "pass" else Status.FAILED
    found = {Status(case.level), *(Status(each.level) for each in case.samples if each.level)}
    if notes and case.result == "pass":
        found.add(Status.UNJUDGED)
    worst = max(found, key=lambda status: status.severity)
    return Status.FAILED if case.result == "fail" and worst.passes else worst
