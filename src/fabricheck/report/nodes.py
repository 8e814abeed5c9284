"""The prerequisites of the nodes: what node health found, ready for the page."""

from dataclasses import dataclass

from fabricheck.report.model import Run
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
                    line["rule"],
                    Status(line["level"]) if line["level"] else Status.SKIPPED,
                    line["words"],
                    line["nodes"],
                )
                for line in case.prerequisites
            ),
        )
        for case in run.cases
        if case.prerequisites
    ]
