"""The verdict on a run: its worst status, its counts, its problems and its exit code."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fabricheck.report.cards import CardTable, card_tables
from fabricheck.report.layer_comparison import clause, distance
from fabricheck.report.run import NOT_PERFORMANCE, ReportedCase, ReportedRun
from fabricheck.report.shared import shared
from fabricheck.report.status import Status

_WORTH = {"bound": "good means plausible, not fast", "ratio": "good means in order"}

ALWAYS_COUNTED = (
    Status.GOOD,
    Status.WARNING,
    Status.CRITICAL,
    Status.NO_REFERENCE,
    Status.UNTRUSTED,
    Status.NOT_RUN,
)
"""Statuses that are counted aloud even when there is none; the others only when there is one."""


GROUP = 3
"""Cases with the same status and alike causes that are told as one problem."""

_FIGURES = re.compile(r"\S*\d\S*(?: \S*\d\S*)*")
"""Names and amounts in a sentence that another case has otherwise: words with a digit."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not good: which cases (none for the record as a whole), and why.

    Of several cases the worst is the first, and ``causes`` are its own. ``layer`` says in few words
    in which layer the fault of MPI's cases is, or how to find out; empty where nothing below MPI
    was measured.
    """

    status: Status
    causes: tuple[str, ...]
    cases: tuple[ReportedCase, ...] = ()
    layer: str = ""

    @property
    def subject(self) -> str:
        """The case by its title, or the first of them and how many others."""
        if not self.cases:
            return "record"
        others = len(self.cases) - 1
        return self.cases[0].title + (f" and {others} others" if others else "")

    @property
    def alike(self) -> bool:
        """Whether all cases have the very same causes."""
        return all(case.causes == self.causes for case in self.cases)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes of the cases, sorted."""
        return tuple(sorted({node for case in self.cases for node in case.nodes}))


@dataclass(frozen=True, slots=True)
class Summary:
    """Verdict on a run; ``shared`` are sentences on cards unlike their peers, and on
    what its red cases have in common, ``cards`` the tables of cards.
    """

    verdict: Status
    counts: Mapping[Status, int]
    problems: tuple[Problem, ...]
    passed: bool
    shared: tuple[str, ...] = ()
    cards: tuple[CardTable, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if the run may be called good, 1 otherwise."""
        return 0 if self.passed else 1


def summarise(run: ReportedRun) -> Summary:
    """The verdict: 0 cases, an incomplete record, a failed build each count as much as a case."""
    counts = Counter(case.status for case in (*run.cases, *run.failed_builds))
    problems = [Problem(Status.INCOMPLETE, (text,)) for text in run.defects]
    judged = sum(number for status, number in counts.items() if status.judged)
    if run.cases and not judged and all(status.passes for status in counts):
        text = f"none of the {len(run.cases)} cases was judged against a reference"
        problems.append(Problem(Status.INCOMPLETE, (text,)))
    problems += _case_problems(run)
    problems.sort(key=lambda problem: (-problem.status.severity, -len(problem.cases)))
    found = [Status.GOOD, *(p.status for p in problems if p.status is not Status.SKIPPED)]
    verdict = Status.worst(found)
    order = dict.fromkeys((*ALWAYS_COUNTED, *Status))
    cards = tuple(card_tables(run))
    return Summary(
        verdict=verdict,
        counts={s: counts[s] for s in order if s in ALWAYS_COUNTED or counts[s]},
        problems=tuple(problems),
        passed=bool(judged) and verdict.passes,
        shared=(*(line for each in cards for line in each.accused), *shared(run)),
        cards=cards,
    )


def _case_problems(run: ReportedRun) -> list[Problem]:
    alike: dict[tuple[Status, str], list[ReportedCase]] = {}
    for case in (*run.failed_builds, *run.cases):
        if case.status is not Status.GOOD:
            alike.setdefault((case.status, _kind(case)), []).append(case)
    problems = []
    for (status, _), cases in alike.items():
        if len(cases) >= GROUP:
            cases.sort(key=lambda case: -_distance(case))
            problems.append(Problem(status, cases[0].causes, tuple(cases), clause(run, cases)))
        else:
            problems += [Problem(status, c.causes, (c,), clause(run, [c])) for c in cases]
    return problems


def _kind(case: ReportedCase) -> str:
    """What cases with alike causes have in common.

    Values beyond their bounds: the transport. Foreign work: nothing. Else the first sentence
    without its figures and the names of nodes.
    """
    if case.status is Status.DISTURBED:
        return ""
    first = case.causes[0]
    names = {f"{sample.metric}_{sample.statistic}" for sample in case.samples}
    if any(first.startswith(name) for name in names):
        return f"values over {case.transport}"
    return _FIGURES.sub("#", first)


def _distance(case: ReportedCase) -> float:
    """How far the farthest value of a case that is not good lies from its reference."""
    return max((distance(each) for each in case.samples if each.level != Status.GOOD), default=0.0)


def reference_legend(run: ReportedRun) -> tuple[str, ...]:
    """Sentences that say what the references are worth, one for each kind that is no yardstick."""
    kinds = Counter(str(case.reference_kind) for case in run.cases)
    return tuple(
        f"{kind} ({kinds[kind]} of {len(run.cases)} cases): {label}; {_WORTH[kind]}"
        for kind, label in NOT_PERFORMANCE.items()
        if kinds[kind]
    )


def ran_again(run: ReportedRun) -> str:
    """How many cases were disturbed and ran once more, by what, and what became of them."""
    cases = run.ran_again
    still = sum(case.status is Status.DISTURBED for case in cases)
    first = sum(bool(case.critical_before) and case.status.judged for case in cases)
    critical = f", {first} critical at first and judged by the second run" if first else ""
    return (
        f"RAN AGAIN: {counted(len(cases))} that other work disturbed, "
        f"{still or 'none'} of them again{critical}; "
        f"{cases[0].title}: {cases[0].disturbed_before[0]}"
    )


def counted(number: int) -> str:
    """So many cases, in words."""
    return f"{number} case{'' if number == 1 else 's'}"
