"""The run that the record holds of a session, without benefit of doubt."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fabricheck.record import entries as record
from fabricheck.record import read
from fabricheck.record.sessions import Known, asked_for
from fabricheck.report.build import build_case
from fabricheck.report.run import Case, Run
from fabricheck.report.status import Status


def load(perflogs: Path, session: str = "", system: str = "") -> Run:
    """The run of a session in the record.

    Args:
        perflogs: the record.
        session: which session; without one the last night, or where there was none the last run.
        system: of which system then; of any, if empty.

    Raises:
        FabricheckError: if there is no such session, or the record can't be read.
    """
    newer: list[Known] = []
    if not session:
        known, newer = asked_for(perflogs, system)
        session = known.session
    return replace(run_of(read.read_session(perflogs, session), perflogs), newer=tuple(newer))


def run_of(recorded: read.Run, path: Path) -> Run:
    """The run of what the record holds of a session.

    Later attempts of a retried case replace earlier ones, and say so. Whatever the record lacks
    becomes a defect of the run or a note of the case.

    Args:
        recorded: what the record holds.
        path: where it is recorded.
    """
    cases = _cases(recorded.cases)
    end = recorded.end
    return Run(
        path=path.resolve(),
        session=recorded.session,
        kind=end.kind if end else record.RUN,
        cases=tuple(case for case in cases if not case.fixture),
        failed_builds=tuple(c for c in cases if c.fixture and c.status is not Status.GOOD),
        defects=tuple(_defects(recorded, cases)),
        lacking=end.lacking if end else "",
        info=end.info if end else {},
        resting=end.resting if end else (),
    )


def _cases(entries: Sequence[record.Case]) -> list[Case]:
    attempts: dict[tuple[str, ...], list[record.Case]] = {}
    for entry in entries:
        key = (entry.id, entry.system, entry.partition, entry.environ)
        attempts.setdefault(key, []).append(entry)
    for each in attempts.values():
        # What was skipped at first is recorded when the session ends, behind its second attempt.
        each.sort(key=lambda entry: entry.attempt)
    built = [build_case(each) for each in attempts.values()]
    failed = {(case.id, case.environ): case for case in built if case.result != "pass"}
    for place, (case, each) in enumerate(zip(built, attempts.values(), strict=True)):
        blockers = [failed[need] for need in _needs(case) if need in failed]
        if blockers:
            built[place] = build_case(each, blockers)
    return built


def _needs(case: Case) -> list[tuple[str, str]]:
    return [(name, case.environ) for name in case.needs]


def _defects(recorded: read.Run, cases: Sequence[Case]) -> Iterator[str]:
    if recorded.end is None:
        yield "the record has no end of the session: it still runs, or was killed"
    else:
        yield from _contradictions(recorded.end, [case.result for case in cases])
    yield from map(str, recorded.problems)
    if not any(not case.fixture for case in cases):
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
            "before everything was recorded; its last words say why"
        )


def _count(end: record.Session, name: str) -> int:
    found = end.info.get(name)
    return found if isinstance(found, int) else 0
