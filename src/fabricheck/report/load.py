"""The run that the record holds of a session, without benefit of doubt: each status, and why."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fabricheck.judge.levels import Level
from fabricheck.record import entries as record
from fabricheck.record import read
from fabricheck.record.entries import Sample
from fabricheck.record.sessions import Known, asked_for
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.units import with_unit

_NAMED = 3
_LARGEST = 1e18
"""None of our measurements is as large in any unit."""
_MEASURED = ("pass", "fail")
_LEVELS = frozenset(Level)
_NOT_RUN = {"skip": Status.SKIPPED, "abort": Status.ABORTED, "fail_deps": Status.NOT_RUN}
_FIELDS = tuple(field.name for field in fields(record.CaseEntry))
_FIGURES = ("value", "reference", "lower", "upper", "warning_lower", "warning_upper")


def load(
    perflogs: Path,
    session: str = "",
    system: str = "",
    keep: Callable[[record.CaseEntry], record.CaseEntry] = lambda case: case,
) -> ReportedRun:
    """The run of a session in the record.

    Args:
        perflogs: the record.
        session: which session; without one the last night, or where there was none the last run.
        system: of which system then; of any, if empty.
        keep: what of a case is kept, where thousands would take much memory.

    Raises:
        FabricheckError: if there is no such session, or the record can't be read.
    """
    newer: list[Known] = []
    if not session:
        known, newer = asked_for(perflogs, system)
        session = known.session
    return _run_of(read.read_session(perflogs, session, keep), perflogs.resolve(), tuple(newer))


def _run_of(recorded: read.RecordedRun, path: Path, newer: tuple[Known, ...]) -> ReportedRun:
    """Later attempts of a retried case replace earlier ones, and say so; whatever the record lacks
    becomes a defect of the run or a note of the case.
    """
    cases = _cases(recorded.cases)
    end = recorded.end
    known: dict[str, Any] = {}
    if end:
        known = {name: getattr(end, name) for name in ("kind", "lacking", "info", "resting")}
    return ReportedRun(
        path=path,
        session=recorded.session,
        cases=tuple(case for case in cases if not case.fixture),
        failed_builds=tuple(c for c in cases if c.fixture and c.status is not Status.GOOD),
        defects=tuple(_defects(recorded, cases)),
        newer=newer,
        **known,
    )


def _cases(entries: Sequence[record.CaseEntry]) -> list[ReportedCase]:
    attempts: dict[tuple[str, str, str, str], list[record.CaseEntry]] = {}
    for entry in entries:
        key = (entry.id, entry.system, entry.partition, entry.environ)
        attempts.setdefault(key, []).append(entry)
    # What was skipped at first is recorded when the session ends, behind its second attempt.
    for group in attempts.values():
        group.sort(key=lambda entry: entry.attempt)
    built = {key: build_case(group) for key, group in attempts.items()}
    failed = {(case.id, case.environ): case for case in built.values() if case.result != "pass"}
    for key, case in built.items():
        needed = ((name, case.environ) for name in case.needs)
        if blockers := [failed[need] for need in needed if need in failed]:
            built[key] = build_case(attempts[key], blockers)
    return list(built.values())


def _defects(recorded: read.RecordedRun, cases: Sequence[ReportedCase]) -> Iterator[str]:
    if recorded.end is None:
        yield "the record has no end of the session: it still runs, or was killed"
    else:
        yield from _contradictions(recorded.end, [case.result for case in cases])
    yield from map(str, recorded.problems)
    if all(case.fixture for case in cases):
        yield "no test case was run: nothing was measured, nothing was judged"


def _contradictions(end: record.Session, results: list[str]) -> Iterator[str]:
    """What the end of a session says of its cases, and they don't."""
    if end.announced != len(results):
        yield (
            f"the session announces {end.announced} cases, the record lists {len(results)}: the "
            "record is incomplete"
        )
    failed, aborted = results.count("fail") + results.count("xpass"), results.count("abort")
    if (counted := _count(end, "num_failures")) > failed:
        yield (
            f"the session counts {counted} failures, the record lists {failed}: the record "
            "contradicts itself"
        )
    if (counted := _count(end, "num_aborted")) > aborted:
        yield (
            f"the session counts {counted} aborted, the record lists {aborted}: ReFrame stopped "
            "before everything was recorded; its last output has the cause"
        )


def _count(end: record.Session, name: str) -> int:
    found = end.info.get(name)
    return found if isinstance(found, int) else 0


def build_case(
    attempts: Sequence[record.CaseEntry], blockers: Sequence[ReportedCase] = ()
) -> ReportedCase:
    """The case of its attempts, the last of which counts.

    ``blockers`` are the tests that it depends on and that did not pass. Where other work disturbed
    them all, it did the case.
    """
    *earlier, newest = attempts
    last = replace(newest, samples=tuple(map(sane, newest.samples)))
    notes = [] if last.fixture else list(_omissions(last))
    status = _fixture_status(last) if last.fixture else _status(last, notes)
    if status is Status.NOT_RUN and {blocker.status for blocker in blockers} == {Status.DISTURBED}:
        status = Status.DISTURBED
    disturbed = [attempt for attempt in earlier if attempt.level == Level.DISTURBED]
    failed = [
        attempt.fail_reason or f"ReFrame result {attempt.result!r}"
        for attempt in earlier
        # What it waited for in vain at first has a history of its own.
        if attempt.level != Level.DISTURBED and attempt.result != "fail_deps"
    ]
    if failed:
        notes.append(f"attempt {len(attempts)}; earlier: {'; '.join(failed)}")
        if status is Status.GOOD and not last.fixture:
            status = Status.WARNING
    return ReportedCase(
        **{name: getattr(last, name) for name in _FIELDS},
        status=status,
        causes=_causes(status, last, notes, [blocker.title for blocker in blockers]),
        disturbed_before=tuple(each.findings[0] for each in disturbed if each.findings),
        critical_before=tuple(
            each.findings[-1] for each in disturbed if each.gave == Level.CRITICAL
        ),
    )


def sane(sample: Sample) -> Sample:
    """A sample without figures that can be none, and without a level that is none."""
    odd = [name for name in _FIGURES if abs(getattr(sample, name) or 0) > _LARGEST]
    without: dict[str, Any] = dict.fromkeys(odd)
    if sample.level not in _LEVELS:
        without["level"] = ""
    return replace(sample, **without) if without else sample


def _omissions(case: record.CaseEntry) -> Iterator[str]:
    """What a case that says it was measured does not have."""
    if not case.result and case.samples:
        yield "another suite's log, which has no results: it was not judged"
    if case.result not in _MEASURED:
        return
    if not case.level and case.result == "pass":
        yield "the case carries no level: it was not judged"
    elif case.level and case.level not in set(Level):
        yield f"the case carries the unknown level {case.level!r}"
    if case.level not in (Level.GOOD, Level.WARNING, Level.CRITICAL):
        return
    samples = case.samples
    missing = [sample.variable for sample in samples if sample.value is None]
    unjudged = [s.variable for s in samples if s.value is not None and not s.level]
    if not samples:
        yield "the case records no value at all"
    for names, lack in ((missing, "have no figure"), (unjudged, "carry no level")):
        if names:
            yield f"{len(names)} of {len(samples)} values {lack}: {_named(names)}"


def _fixture_status(case: record.CaseEntry) -> Status:
    if case.result == "pass":
        return Status.GOOD
    return _NOT_RUN.get(case.result, Status.BUILD_FAILED)


def _status(case: record.CaseEntry, notes: Sequence[str]) -> Status:
    if case.result not in _MEASURED:
        return _NOT_RUN.get(case.result, Status.UNJUDGED)
    if case.level not in set(Level):
        return Status.UNJUDGED if case.result == "pass" else Status.FAILED
    found = {Status(case.level), *(Status(sample.level) for sample in case.samples if sample.level)}
    if notes and case.result == "pass":
        found.add(Status.UNJUDGED)
    worst = Status.worst(found)
    return Status.FAILED if case.result == "fail" and worst.passes else worst


def _causes(
    status: Status, case: record.CaseEntry, notes: Sequence[str], blockers: Sequence[str]
) -> tuple[str, ...]:
    """Why a case has its status, most telling first; empty for a good case.

    First the findings of the judgement, or the values outside their bounds where it left none, then
    what the record lacks (``notes``), then what the case waited for in vain (``blockers``).
    ReFrame's own reason stands where nothing better is known.
    """
    if status is Status.GOOD:
        return ()
    known = list(case.findings or _outside(case.samples))
    reason = " ".join(case.fail_reason.split())
    if reason and not known:
        known.append(f"in phase {case.fail_phase}: {reason}" if case.fail_phase else reason)
    known += notes
    if blockers and status in (Status.NOT_RUN, Status.DISTURBED):
        happened = "did not pass" if status is Status.NOT_RUN else "other work disturbed"
        known.append(f"it needs {_named(blockers)}, which {happened}")
    return tuple(known) or (f"the record gives no cause (ReFrame result {case.result!r})",)


def _named(names: Sequence[str]) -> str:
    """The first names, and dots where there are more."""
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _outside(samples: Sequence[Sample]) -> Iterator[str]:
    """Of each level that is not good, the first value and how many others."""
    for level in (Level.CRITICAL, Level.WARNING):
        found = [sample for sample in samples if sample.level == level]
        if found:
            more = f" (and {len(found) - 1} more values)" if len(found) > 1 else ""
            yield _against_bound(found[0]) + more
    if unknown := [sample.variable for sample in samples if sample.level == Level.NO_REFERENCE]:
        yield f"{len(unknown)} of {len(samples)} values have no reference: {_named(unknown)}"


def _against_bound(sample: Sample) -> str:
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
