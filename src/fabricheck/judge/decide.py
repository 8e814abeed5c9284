"""What a case comes to: its verdict, the fabric below it, and what others took of its CPUs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from fabricheck.judge.judgement import Judgement
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.verdict import Verdict

_LOAD_FACTOR: Final = 8
"""So many times beyond its critical bound a bandwidth is not for want of CPUs alone."""


class Attempt(Enum):
    """Which run of a case it is: one of two if it is disturbed, or the only one."""

    ONLY = auto()
    FIRST = auto()
    SECOND = auto()


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What others took while the ranks ran, in sentences.

    Attributes:
        much: more than they may have.
        some: likewise, of a smaller share: enough to run a case again that is not good.
        noticed: what the program itself noticed.
    """

    much: tuple[str, ...] = ()
    some: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()

    def of(self, attempt: Attempt, *, suspect: bool) -> tuple[str, ...]:
        """What counts, for a case that is suspect or not."""
        first = self.some if suspect and attempt is Attempt.FIRST else self.much
        return (*first, *self.noticed)


@dataclass(frozen=True, slots=True)
class Fabric:
    """What counters of the fabric below a case show, in sentences.

    Attributes:
        level: the worst of it.
        causes: what is critical at a place: why a value is bad.
        remarks: the rest.
        critical: all that is critical.
        faulty: whether it has a fault that no load on the nodes makes.
    """

    level: Level = Level.GOOD
    causes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case comes to.

    Attributes:
        level: the verdict.
        findings: why it is not good, most telling first.
        causes: those of them that lie in the fabric.
        judgements: one for each variable; none where nothing was measured that can be judged.
        gave: of a disturbed case, the level of its values; ``None`` where nothing judged them.
    """

    level: Level
    findings: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    gave: Level | None = None

    @property
    def fails(self) -> bool:
        """Whether ReFrame shall show the case as failed, although its evidence was believed."""
        levels = {self.level, *(each.level for each in self.judgements)}
        return self.level is Level.CRITICAL or Level.NO_REFERENCE in levels


def of_evidence(
    objections: Sequence[str], disturbance: Disturbance, attempt: Attempt, fabric: Fabric
) -> Outcome | None:
    """The outcome of a case whose values are not looked at; ``None`` if they are.

    A disturbed case says nothing of fabric or MPI. A second run is believed all the same where
    the fabric has a fault; one without objections is judged by its values, which decide whether
    load alone can be why.

    Args:
        objections: why the evidence can't be trusted, the gravest first.
        disturbance: what others took.
        attempt: which run it is.
        fabric: what its counters show.
    """
    by = disturbance.of(attempt, suspect=bool(objections))
    second = attempt is Attempt.SECOND
    if by and not (second and (fabric.faulty or not objections)):
        return _disturbed(by, objections)
    if objections:
        return beside(Level.UNTRUSTED, objections, fabric)
    return None


def of_verdict(
    verdict: Verdict, disturbance: Disturbance, attempt: Attempt, fabric: Fabric
) -> Outcome:
    """The outcome of a case whose values were judged."""
    by = () if fabric.faulty else _excuses(verdict, disturbance, attempt)
    # The best of a whole curve is no matter of moments: its bounds allow for load.
    critical = any(each.level is Level.CRITICAL for each in verdict.judgements)
    whole = verdict.level is Level.CRITICAL and not critical
    if by and not whole and not any(map(_is_beyond_load, verdict.judgements)):
        told = () if by == verdict.findings else verdict.findings
        return replace(_disturbed(by, told), gave=verdict.level)
    level = worst([verdict.level, fabric.level])
    return beside(level, verdict.findings, fabric, verdict.judgements)


def _excuses(verdict: Verdict, disturbance: Disturbance, attempt: Attempt) -> Sequence[str]:
    """What may be why a case is not as it should be."""
    suspect = verdict.level in (Level.CRITICAL, Level.UNTRUSTED)
    if attempt is not Attempt.SECOND and not suspect:
        return ()
    found = disturbance.of(attempt, suspect=suspect)
    if not found and verdict.level is Level.UNTRUSTED and attempt is Attempt.FIRST:
        # Values that are proved and say nothing: their own noise hides what is asked.
        return verdict.findings
    return found


def _disturbed(by: Sequence[str], objections: Iterable[str] = ()) -> Outcome:
    return Outcome(Level.DISTURBED, (*by, *(f"what it gave: {each}" for each in objections)))


def beside(
    level: Level,
    findings: Sequence[str],
    fabric: Fabric,
    judgements: tuple[Judgement, ...] = (),
) -> Outcome:
    """With all findings in order: a dead link explains a slow value, not the other way round."""
    ordered = (*fabric.causes, *findings, *fabric.remarks)
    return Outcome(level, ordered, fabric.critical, judgements)


def _is_beyond_load(found: Judgement) -> bool:
    if found.level is not Level.CRITICAL or found.reference is None or not found.value:
        return False
    lower, _ = found.reference.bounds()
    return lower is not None and lower / found.value >= _LOAD_FACTOR
