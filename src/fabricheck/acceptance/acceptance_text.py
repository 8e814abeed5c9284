"""An acceptance on the terminal."""

from collections import Counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fabricheck.acceptance import wording
from fabricheck.acceptance.answers import Acceptance, AcceptanceVerdict, Answer, Scope

_MOST = 12
"""Lines of each table, unless all are asked for."""


def show(found: Acceptance, console: Console, *, every: bool) -> None:
    """Print the verdict and what to do, the worst, then each transport, and what is worse or open.

    Args:
        found: the acceptance.
        console: where to.
        every: all cases and series, also those that are fine.
    """
    head = Text(f" {str(found.verdict).upper()} ", f"bold {found.verdict.color} reverse")
    head.append(f"  {wording.next_step(found)}", "default not bold not reverse")
    console.print(head, soft_wrap=True)
    for line in (*wording.worst(found), wording.sentence(found)):
        console.print(line, soft_wrap=True)
    runs = {side: len(names) for side, names in found.sessions.items()}
    console.print(f"{runs['before']} runs before, {runs['after']} after", soft_wrap=True)
    for line in wording.cautions(found):
        console.print(Text(f"note: {line}", "yellow"), soft_wrap=True)
    # Cases that differ in what a name leaves out, such as ranks, are one line.
    lacking = Counter[tuple[str, int, int]]()
    for each in found.missing:
        lacking[wording.name(Scope.CASE, each.fields), each.before, each.after] += each.series
    for (name, before, after), number in lacking.items():
        runs_of_each = f"({before} runs before, {after} after)"
        console.print(f"not on both sides: {name}, {number} series {runs_of_each}", soft_wrap=True)
    for scope, heading in wording.HEADINGS.items():
        whole = scope in (Scope.TRANSPORT, Scope.NODES)
        answers = [
            each
            for each in found.of(scope)
            if every or whole or each.verdict is not AcceptanceVerdict.ACCEPT
        ]
        if answers:
            _table(heading, answers, console, every=every)


def _table(heading: str, answers: list[Answer], console: Console, *, every: bool) -> None:
    answers = sorted(answers, key=lambda each: (each.verdict.place, -(each.shift or 0)))
    shown = answers if every else answers[:_MOST]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (heading.lower(), "verdict", "change, + is worse", "median", "to settle it"):
        table.add_column(column)
    for each in shown:
        question = each.question
        notes = "; ".join(filter(None, (each.why, wording.advice(each))))
        table.add_row(
            wording.name(question.scope, question.fields),
            Text(str(each.verdict), each.verdict.color),
            wording.shift(each),
            wording.values(each),
            notes,
        )
    console.print()
    console.print(table)
    if len(shown) < len(answers):
        console.print(f"and {len(answers) - len(shown)} more: see --all and --json")
