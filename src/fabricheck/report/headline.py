"""What a reader needs first, in three sentences: the fabric, the run, and what to do next.

Page, terminal, mail and JSON have the same words.
"""

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabricheck.nodes.names import fold
from fabricheck.record.entries import NIGHT
from fabricheck.report.layer_comparison import has_layers
from fabricheck.report.run import ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import Problem, Summary, counted

_CASES: Final[Mapping[Status, str]] = {
    Status.WARNING: "within what is allowed, but worth a look",
    Status.NO_REFERENCE: "measured, but without a reference to judge by",
    Status.CRITICAL: "beyond what is allowed",
    Status.UNTRUSTED: "without proof, so neither good nor bad is known of them",
    Status.DISTURBED: "disturbed by other work, so neither good nor bad is known of them",
    Status.UNJUDGED: "measured, but not judged",
    Status.ABORTED: "aborted, without a figure",
    Status.FAILED: "failed, without a figure",
    Status.NOT_RUN: "not run, without a figure",
    Status.BUILD_FAILED: "without a program, as the build failed",
}
_OF_CARDS: Final = {"fails": "failing"}
_COMMAND: Final = re.compile(r"^see (fabricheck .*)")


@dataclass(frozen=True, slots=True)
class Headline:
    """Sentences without a full stop.

    Attributes:
        fabric: whether the fabric is all right.
        run: what the verdict on the run means, and that the other cases hold.
        words: what to do next.
        command: the command for it; empty where there is none.
    """

    fabric: str
    run: str
    words: str
    command: str

    @property
    def next(self) -> str:
        """What to do next, with the command."""
        return f"Next: {self.words}" + (f": {self.command}" if self.command else "")


def headline(run: ReportedRun, summary: Summary) -> Headline:
    """The three sentences on a run."""
    return Headline(_of_fabric(summary), _of_run(summary), *_next(run, summary))


def _of_fabric(summary: Summary) -> str:
    judged = sum(number for status, number in summary.counts.items() if status.judged)
    critical = summary.counts[Status.CRITICAL]
    words = f"{critical or 'nothing'} critical in {counted(judged)} judged" if judged else "unknown"
    if faults := Counter(fault for _, _, fault in _cards(summary)):
        cards = (
            f"{number} card{'' if number == 1 else 's'} {_OF_CARDS.get(name, name)}"
            for name, number in faults.items()
        )
        words = f"{', '.join(cards)}; {words}"
    silent = sum(n for status, n in summary.counts.items() if not (status.judged or status.passes))
    if silent:
        words += f"; {counted(silent)} without a verdict"
    if Status.INCOMPLETE in {problem.status for problem in summary.problems}:
        words += "; the record is incomplete"
    return f"The fabric: {words}"


def _of_run(summary: Summary) -> str:
    """What the worst status means, as it is that of a single case maybe."""
    verdict, total = summary.verdict, sum(summary.counts.values())
    if verdict is Status.INCOMPLETE:
        return f"The run: incomplete: {summary.problems[0].causes[0]}"
    if verdict not in _CASES:
        return f"The run: {verdict}: all that was measured is proved and judged good"
    number = summary.counts[verdict]
    words = f"The run: {verdict}: {number} of {counted(total)} {_CASES[verdict]}"
    holds = sum(n for status, n in summary.counts.items() if status.judged and status != verdict)
    return words + (f"; the verdict on {holds} others holds" if holds else "")


def _next(run: ReportedRun, summary: Summary) -> tuple[str, str]:
    """What to do about the worst problem, and the command."""
    if found := _cards(summary):
        port, nodes, _ = found[0]
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return f"on {fold(nodes)}, look at card {port}{more}", "fabricheck node --loopback"
    if not summary.problems:
        return "nothing to do", ""
    return _about(summary.problems[0], run)


def _cards(summary: Summary) -> list[tuple[str, list[str], str]]:
    """Cards unlike their peers: port, nodes, and what is wrong.

    A card that stands out among several sets of nodes is one; what these have in common is its.
    """
    found: list[tuple[str, list[str], str]] = []
    for table in summary.cards:
        for port in table.ports:
            nodes = [node for node in table.nodes if table.cells[node, port].fault]
            if not nodes:
                continue
            for number, (other, before, known) in enumerate(found):
                if other == port and (common := [node for node in before if node in nodes]):
                    found[number] = port, common, known
                    break
            else:
                found.append((port, nodes, table.cells[nodes[0], port].fault))
    return found


def _about(problem: Problem, run: ReportedRun) -> tuple[str, str]:
    if not problem.cases:
        return "run it again, or wait for its end", ""
    case = problem.cases[0]
    if found := _COMMAND.match(problem.layer):
        return "find the layer", found[1]
    if problem.status is Status.NO_REFERENCE:
        return "propose references", f"fabricheck baseline propose --system {case.system}"
    if case.output and (not problem.status.measured or not case.placement):
        return "read its log", f"tail -n 40 {shlex.quote(case.output)}/*.err"
    if case.placement and problem.status is Status.UNJUDGED:
        return "compare two periods of it", "fabricheck accept --help"
    session = "" if run.kind == NIGHT else f" --session {run.session}"
    compare = "compare the layers", f'fabricheck explain "{case.title}"{session}'
    return compare if has_layers(case) else ("read its causes", "")
