"""What an acceptance says, and of what."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fabricheck.trend.robust import Array

Value = str | int | None


class AcceptanceVerdict(StrEnum):
    """Is it as good as before? What needs a look first comes first."""

    REJECT = "reject"
    INCONCLUSIVE = "inconclusive"
    ACCEPT = "accept"

    @property
    def place(self) -> int:
        """Place in the order of the definition."""
        return list(AcceptanceVerdict).index(self)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line; 2 is bad input everywhere."""
        return (1, 3, 0)[self.place]

    @property
    def symbol(self) -> str:
        """One character that tells the verdicts apart without colour."""
        return "✖?✓"[self.place]

    @property
    def color(self) -> str:
        """Colour family of the style sheet, also a colour of the terminal."""
        return ("red", "yellow", "green")[self.place]


def together(verdicts: list[AcceptanceVerdict]) -> AcceptanceVerdict:
    """The verdict on a whole: one part that is worse rejects it, and all must be fine."""
    return min(verdicts, key=lambda each: each.place, default=AcceptanceVerdict.INCONCLUSIVE)


class Scope(StrEnum):
    """On what a verdict is given, from the whole to its parts."""

    TRANSPORT = "transport"
    NODES = "nodes"
    CASE = "case"
    SERIES = "series"
    FAILURES = "failures"


@dataclass(frozen=True, slots=True)
class Question:
    """Something that may have got worse.

    Attributes:
        scope: what kind of thing it is.
        fields: which one it is: fields of its series.
        runs_before: the logarithm of what each run before measured, in the order of time; greater
            is worse.
        runs_after: likewise after; of each pair one.
        margin: the margin of equivalence, as such a logarithm.
        two_sided: nobody knows which direction is worse, so both are.
        before: median over the runs, in ``unit``; ``None`` where there are many units.
        after: likewise.
        unit: unit of the two.
        failed: runs that failed and runs, before and after; only of failures.
        critical: runs after the change in which the case was critical; only of failures.
        spread: standard deviation of such logarithms in nights before the campaign; 0 if unknown.
    """

    scope: Scope
    fields: Mapping[str, Value]
    runs_before: Array
    runs_after: Array
    margin: float
    two_sided: bool = False
    before: float | None = None
    after: float | None = None
    unit: str = ""
    failed: tuple[int, int, int, int] | None = None
    critical: int = 0
    spread: float = 0.0

    @property
    def pairs(self) -> int:
        """Pairs of runs."""
        return len(self.runs_before)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the pairs say to a question.

    Attributes:
        question: the question.
        verdict: the verdict, on this alone.
        shift: estimate of the relative change; 0.05 is worse by 5 %. ``None`` without pairs.
        low: least shift that the pairs allow; ``None`` with too few pairs.
        high: greatest such shift.
        p_worse: p-value that it is no worse than the margin.
        q_worse: the same, adjusted for all questions of the acceptance.
        p_fine: p-value that it is worse by the margin or more.
        sees: smallest relative change that pairs like these would tell from none, four times of
            five; ``None`` with too few of them.
        further: pairs of runs that would probably settle it; 0 if it is settled, ``None`` if more
            than what is advised.
        why: what else than the shift made the verdict, in words.
    """

    question: Question
    verdict: AcceptanceVerdict
    shift: float | None
    low: float | None
    high: float | None
    p_worse: float
    q_worse: float
    p_fine: float
    sees: float | None = None
    further: int | None = 0
    why: str = ""


def most_further(answers: Iterable[Answer]) -> int | None:
    """The most pairs that any of the open questions needs, ``None`` if one needs too many."""
    needed = [each.further for each in answers if each.verdict is AcceptanceVerdict.INCONCLUSIVE]
    known = [number for number in needed if number is not None]
    return max(known, default=0) if len(known) == len(needed) else None


@dataclass(frozen=True, slots=True)
class Difference:
    """Something besides the measured values that is not the same before and after.

    Attributes:
        field: what, one of ``fabricheck.record.facts.FIELDS``.
        places: on which nodes, in which environments.
        before: its values before.
        after: its values after.
    """

    field: str
    places: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Series of a case that have no value on one side.

    Attributes:
        fields: which case.
        series: number of such series.
        before: most runs with a value of theirs before.
        after: likewise after.
    """

    fields: Mapping[str, Value]
    series: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The whole answer.

    Attributes:
        verdict: on everything.
        answers: on each question.
        missing: what has no pair: nobody can say that it is as before.
        differences: what else is not the same.
        sessions: names of the runs of each side, in the order of time.
        interleaved: the runs of the two sides take turns.
        without_run: how many values name no run.
        not_compared: how many values of a metric only their levels judge.
        control: nothing was changed between the sides.
    """

    verdict: AcceptanceVerdict
    answers: list[Answer]
    missing: list[Missing]
    differences: list[Difference]
    sessions: Mapping[str, list[str]]
    interleaved: bool
    without_run: int = 0
    not_compared: Mapping[str, int] = field(default_factory=dict)
    control: bool = False

    def of(self, scope: Scope) -> list[Answer]:
        """The answers on one kind of thing."""
        return [each for each in self.answers if each.question.scope is scope]
