"""The table of faults in the documentation, written from a drill and held to the list."""

import textwrap
from collections.abc import Iterator, Sequence

from drill.drill import Outcome, Sight
from drill.fault import Fault, Key
from fabricheck.report.status import Status
from generated import END, begin

COMMAND = "lab/faults.py"
HEAD = (
    "| fault | `fabricheck testbed fault` | what goes red or warns | the first cause that is named "
    "| `fabricheck explain` |",
    "|---|---|---|---|---|",
)
LETTERS = 64
"""Of a cause: what follows is advice."""


def table(outcomes: Sequence[Outcome], faults: Sequence[Fault], written: Sequence[str]) -> str:
    """The table: a row for each fault, in the order of the list.

    Args:
        outcomes: the faults that were injected.
        faults: the list.
        written: rows of an earlier table, kept for the others.
    """
    known = {fault.name: row for fault in faults for row in written if _is_of(row, fault)}
    known |= {outcome.fault.name: _row(outcome) for outcome in outcomes}
    return "\n".join([*HEAD, *(known[fault.name] for fault in faults if fault.name in known)])


def _is_of(row: str, fault: Fault) -> bool:
    return row.startswith(f"| **{fault.name}**: ")


def lead(fault: Fault) -> str:
    """The first two cells of a fault's row, which follow from the list alone."""
    remark = f"<br>{fault.remark}" if fault.remark else ""
    return _line([f"**{fault.name}**: {fault.title}{remark}", fault.injected or "-"])


def _row(outcome: Outcome) -> str:
    cells = ["<br>".join(_seen(outcome)), cause(outcome.first_line), "<br>".join(_places(outcome))]
    return lead(outcome.fault) + _line(cells)[1:]


def cause(first_line: str) -> str:
    """The beginning of what the first line on a problem says, without its case and nodes."""
    return textwrap.shorten(first_line.partition(": ")[2], LETTERS, placeholder=" …")


def _seen(outcome: Outcome) -> Iterator[str]:
    """The cases of each status, the worst first; what is not seen is told as well."""
    statuses = sorted({sight.status for sight in outcome.sights.values()}, key=_severity)
    for status in statuses:
        cases = [str(key) for key, sight in outcome.sights.items() if sight.status is status]
        told = "not seen by" if status is Status.GOOD else f"{status}:"
        yield f"{told} {', '.join(cases)}"


def _severity(status: Status) -> int:
    return -status.severity


def _places(outcome: Outcome) -> Iterator[str]:
    explained: dict[str, list[Key]] = {}
    for key, sight in outcome.sights.items():
        if sight.places is not None:
            explained.setdefault(_place(sight), []).append(key)
    if len(explained) == 1:
        yield from explained
        return
    for place, keys in explained.items():
        yield f"{place} ({', '.join(map(str, keys))})"


def _place(sight: Sight) -> str:
    return " or ".join(sight.places or ()) or "none"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in cells)} |"


def rows(text: str) -> list[str]:
    """The rows of the table in a document."""
    _, _, rest = text.partition(begin(COMMAND))
    inside, _, _ = rest.partition(END)
    return [line for line in inside.splitlines() if line.startswith("| **")]
