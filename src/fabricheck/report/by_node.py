"""What each node showed in a run, the worst first: nodes that showed the same share a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import Summary

SHOWN: Final = 16
"""Rows that are seen without a click."""
_NAMED: Final = 2


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Nodes that are alike.

    Attributes:
        nodes: their names.
        status: the worst of their cases.
        good: how many of these cases are good, in words.
        cards: cards of the nodes that are unlike their peers.
        problems: number and subject of what is wrong with them, the worst first.
        more: how many further problems they have.
    """

    nodes: tuple[str, ...]
    status: Status
    good: str
    cards: tuple[str, ...]
    problems: tuple[tuple[int, str], ...]
    more: int


def node_rows(run: ReportedRun, summary: Summary) -> list[NodeRow]:
    """A row for each kind of node of a run."""
    cases: dict[str, list[ReportedCase]] = {}
    for case in run.cases:
        for node in case.nodes:
            cases.setdefault(node, []).append(case)
    alike: dict[NodeRow, list[str]] = {}
    for node, found in cases.items():
        alike.setdefault(_row(node, found, summary), []).append(node)
    rows = [replace(row, nodes=tuple(sorted(nodes))) for row, nodes in alike.items()]
    return sorted(rows, key=lambda row: (not row.cards, -row.status.severity, row.nodes))


def _row(node: str, cases: Sequence[ReportedCase], summary: Summary) -> NodeRow:
    """What a node showed, without its name."""
    statuses = [case.status for case in cases]
    cards = tuple(
        f"{port} {cell.words}"
        for table in summary.cards
        for (other, port), cell in table.cells.items()
        if other == node and cell.fault
    )
    good = statuses.count(Status.GOOD)
    own = set(map(id, cases))
    wrong = [
        (number, problem.subject)
        for number, problem in enumerate(summary.problems, 1)
        if own.intersection(map(id, problem.cases))
    ]
    words = "all" if good == len(cases) else f"{good} of {len(cases)}"
    worst = Status.worst(statuses)
    return NodeRow((), worst, words, cards, tuple(wrong[:_NAMED]), max(0, len(wrong) - _NAMED))
