"""What the kernel's log says of cards and links in a run: counted, with the line."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fabricheck.fabric.finding import Finding
from fabricheck.fabric.ports import Snapshot
from fabricheck.judge.levels import Level
from fabricheck.tables import TEXT, Cell, one_of, rows

_COLUMNS: Final = {
    "name": TEXT,
    "level": one_of((Level.WARNING, Level.CRITICAL)),
    "pattern": Cell("a regular expression", re.compile),
    "advice": TEXT,
}
_ROWS: Final = tuple(rows(Path(__file__).with_suffix(".csv"), _COLUMNS))
_MOST: Final = 200
"""Characters of a line in a sentence."""


def judge_log(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """The lines that came in a run, by their rows; none where the log was not read twice."""
    if before.log is None or after.log is None:
        return
    seen = {*before.log}
    found: dict[str, list[str]] = {}
    for line in after.log:
        if line not in seen and (name := _kind(line)):
            found.setdefault(name, []).append(line)
    for row in _ROWS:
        if lines := found.get(row["name"]):
            yield Finding(
                row["level"], f"kernel log: {row['name']}", after.host, "",
                f"{_count(lines)}: {lines[-1][:_MOST]}", row["advice"], len(lines),
            )  # fmt: skip


def _kind(line: str) -> str:
    return next((str(row["name"]) for row in _ROWS if row["pattern"].search(line)), "")


def _count(lines: Sequence[str]) -> str:
    return "one line" if len(lines) == 1 else f"{len(lines)} lines, the last"
