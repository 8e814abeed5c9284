"""What the mail of a night tells of its steps, from what they printed for machines."""

import textwrap
from collections.abc import Mapping
from typing import Any, Final

from fabricheck.nodes.names import fold
from fabricheck.report.status import Status

_PROBLEMS: Final = 3
_CAUSE: Final = 100
"""Characters of the cause in the subject."""


def counted(found: Mapping[str, Any]) -> str:
    """System, cases and regressions, for the subject: the worst first."""
    if not found:
        return ""
    counts = {Status(name): number for name, number in found["counts"].items() if number}
    bad = sorted(counts.keys() - {Status.GOOD}, key=lambda status: -status.severity)
    words = [f"{counts[each]} {each}" for each in bad or counts]
    words[-1:] = [f"{each} of {len(found['cases'])} cases" for each in words[-1:]]
    for state, number in ((found["history"] or {}).get("regressions") or {}).items():
        words.append(f"{number} {state} regression{'' if number == 1 else 's'}")
    return f"{', '.join([*found['systems'], *words])}: "


def _cause(problem: Mapping[str, Any]) -> str:
    where = f" on {fold(problem['nodes'])}" if problem["nodes"] else ""
    return f"{problem['subject']}{where}: {problem['causes'][0]}"


def first_cause(found: Mapping[str, Any]) -> str:
    """What stands out first, for the subject: a card, what red cases share, or the worst case."""
    causes = [*found["shared"], *map(_cause, found["problems"])] if found else []
    return f": {textwrap.shorten(causes[0], _CAUSE, placeholder=' ...')}" if causes else ""


def of_page(found: Mapping[str, Any], page: str) -> list[str]:
    """Fabric, run, what to do next, what was not measured, and the worst problems."""
    lines = [*(found[name] for name in ("fabric", "run", "next")), *found["shared"]]
    lines += [f"NOT MEASURED: {found['lacking']}"] if found["lacking"] else []
    lines += [f"{each['status']} {_cause(each)}" for each in found["problems"][:_PROBLEMS]]
    left = len(found["problems"]) - _PROBLEMS
    return lines + ([f"... and {left} more: see {page}"] if left > 0 else [])


def lost(history: Mapping[str, Any]) -> list[str]:
    """What of the record could not be read tonight, or was read before and is gone."""
    counts = {"lines with a new problem": history.get("problems", 0)}
    counts["files that changed or are gone"] = len(history.get("changed", ()))
    words = [f"{number} {what}" for what, number in counts.items() if number]
    said = f"the record has {' and '.join(words)}: see fabricheck history status"
    return [said] if words else []


def overdue(found: Mapping[str, Any]) -> list[str]:
    """The nodes that wait longer than the site allows."""
    if not found.get("overdue"):
        return []
    return [
        f"{len(found['overdue'])} of {len(found['nights'])} nodes not measured in "
        f"{found['at_least_every']} nights or more: {fold(found['overdue'])}"
    ]
