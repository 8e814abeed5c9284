"""One fault after the other: injected, looked at, undone; before and after it all must be green."""

import io
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from drill.fault import Fault, Key
from drill.scene import Scene
from fabricheck.errors import FabricheckError
from fabricheck.report.layer_comparison import compare_layers
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import summarise
from fabricheck.report.terminal import show

Progress = Callable[[str], None]
_WIDTH = 1000


@dataclass(frozen=True, slots=True)
class Sight:
    """How a case looked while the fault was there.

    Attributes:
        status: its status.
        causes: why it is not good, most telling first.
        places: where ``fabricheck explain`` says that the fault is; None where it was not asked.
        explanation: its sentence.
    """

    status: Status
    causes: tuple[str, ...]
    places: tuple[str, ...] | None = None
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one fault.

    Attributes:
        fault: the fault.
        sights: each case of the list, as it looked.
        first_line: the first line on a problem in ``fabricheck report``.
        missed: what should have been seen and was not.
        left_behind: what was not green after the fault was undone.
        seconds: how long all of it took.
    """

    fault: Fault
    sights: Mapping[Key, Sight]
    first_line: str
    missed: tuple[str, ...]
    left_behind: tuple[str, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the fault was seen as it must be, and all was green without it."""
        return not self.missed and not self.left_behind


def drill(scene: Scene, faults: Sequence[Fault], progress: Progress) -> Iterator[Outcome]:
    """Inject faults one after the other.

    Raises:
        FabricheckError: if the cases are not green before the first fault, or nothing can be run.
    """
    everything = dict.fromkeys((fault.partition, case) for fault in faults for case in fault.cases)
    for partition in dict.fromkeys(partition for partition, _ in everything):
        cases = [case for where, case in everything if where == partition]
        progress(f"without a fault: {len(cases)} cases on {partition}")
        if wrong := list(not_green(scene.run(partition, cases, {}), cases)):
            raise FabricheckError(
                f"expected {partition} to be green without a fault, found {'; '.join(wrong)}: "
                "a drill needs a quiet machine, and references of every case"
            )
    for number, fault in enumerate(faults, 1):
        progress(f"{number}/{len(faults)} {fault.name}: {fault.title}")
        yield _face(scene, fault, progress)


def _face(scene: Scene, fault: Fault, progress: Progress) -> Outcome:
    begin = time.monotonic()
    try:
        if fault.in_mid_job:
            run = scene.run(fault.partition, fault.cases, fault.site, lambda: scene.inject(fault))
        else:
            scene.inject(fault)
            run = scene.run(fault.partition, fault.cases, fault.site)
    finally:
        mended = scene.undo(fault)
    sights = {key: sight for key in fault.cases if (sight := look(run, key, fault))}
    missed = tuple(what_is_missed(fault, sights))
    said = first_line(run)
    progress(f"{fault.name}: the report begins: {said or 'all is good'}")
    progress(f"{fault.name}: {'seen' if not missed else 'MISSED ' + '; '.join(missed)}")
    after = scene.run(fault.partition, fault.cases, {})
    left_behind = (*mended, *not_green(after, fault.cases))
    progress(
        f"{fault.name}: undone, "
        + ("green again" if not left_behind else "NOT GREEN: " + "; ".join(left_behind))
    )
    return Outcome(fault, sights, said, missed, left_behind, time.monotonic() - begin)


def look(run: ReportedRun, key: Key, fault: Fault) -> Sight | None:
    """How a case looks, and what ``fabricheck explain`` says of it where the fault asks for it."""
    case = _find(run, key)
    if case is None:
        return None
    if key not in fault.explained:
        return Sight(case.status, case.causes)
    diagnosis = compare_layers(run, case).diagnosis
    return Sight(case.status, case.causes, diagnosis.places, diagnosis.sentence)


def _find(run: ReportedRun, key: Key) -> ReportedCase | None:
    wanted = (key.benchmark, key.environ, key.placement)
    for case in run.cases:
        if (case.benchmark, case.environ, case.placement or "") == wanted:
            return case
    return None


def what_is_missed(fault: Fault, sights: Mapping[Key, Sight]) -> Iterator[str]:
    """A sentence for each thing that should have been seen and was not."""
    yield from (f"{case} did not run" for case in fault.cases if case not in sights)
    for expected in fault.expected:
        sight = sights.get(expected.case)
        if sight is None:
            continue
        if not expected.seen.fits(sight.status):
            yield f"expected {expected.case} to be {expected.seen}, found {_told(sight)}"
        elif not any(re.search(expected.words, each) for each in sight.causes or ("",)):
            yield f"expected {expected.words!r} from {expected.case}, found {_told(sight)}"
    for case, places in fault.explained.items():
        sight = sights.get(case)
        if sight is not None and sight.places != places:
            yield (
                f"expected fabricheck explain {case} to name {' or '.join(places)}, found "
                f"{' or '.join(sight.places or ()) or 'nothing'}: {sight.explanation}"
            )


def not_green(run: ReportedRun, cases: Iterable[Key]) -> Iterator[str]:
    """A sentence for each case that did not run or does not pass."""
    yield from run.defects
    yield from (f"{build.title}: {build.causes[0]}" for build in run.failed_builds)
    for key in cases:
        case = _find(run, key)
        if case is None:
            yield f"{key} did not run"
        elif not case.status.passes:
            yield f"{key}: {_told(Sight(case.status, case.causes))}"


def _told(sight: Sight) -> str:
    return f"{sight.status}{''.join(f', {cause}' for cause in sight.causes[:1])}"


def first_line(run: ReportedRun) -> str:
    """The first line about a problem that ``fabricheck report`` prints; empty if there is none."""
    summary = summarise(run)
    if not summary.problems:
        return ""
    text = io.StringIO()
    show(run, summary, Console(file=text, width=_WIDTH, no_color=True), table=False)
    problem = summary.problems[0]
    start = f"{problem.status} {problem.subject}"
    return next(line for line in text.getvalue().splitlines() if start in line)
