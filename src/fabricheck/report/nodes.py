"""What node health found of the prerequisites of nodes, for the page."""

from dataclasses import dataclass
from typing import Any

from fabricheck.judge.levels import Level
from fabricheck.report.run import Run
from fabricheck.report.status import Status


@dataclass(frozen=True, slots=True)
class NodeLine:
    """What one prerequisite looks like on some nodes; skipped where it does not apply."""

    rule: str
    status: Status
    words: str
    nodes: str


def node_tables(run: Run) -> list[tuple[str, tuple[NodeLine, ...]]]:
    """For each case that looked at nodes: where and in which environment, and its lines."""
    return [
        (
            f"{case.system}:{case.partition}, {case.environ}",
            tuple(
                NodeLine(
                    str(line.get("rule")),
                    _status(line.get("level")),
                    str(line.get("words")),
                    str(line.get("nodes")),
                )
                for line in case.prerequisites
            ),
        )
        for case in run.cases
        if case.prerequisites
    ]


def _status(level: Any) -> Status:
    if level is None:
        return Status.SKIPPED
    return Status(level) if level in list(Level) else Status.UNJUDGED
