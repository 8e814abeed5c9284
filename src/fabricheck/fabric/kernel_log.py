"""What the kernel's log says of cards and links in a run, and since the run before: counted."""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

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
_TIME: Final = re.compile(r"\[ *(\d+\.\d+)\]")
_MOST: Final = 200
"""Characters of a line in a sentence."""


def judge_log(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """The lines that came in a run, by their rows; none where the log was not read twice."""
    if before.log is None or after.log is None:
        return
    seen = {*before.log}
    for row, lines in _found(line for line in after.log if line not in seen):
        yield Finding(
            row["level"], f"kernel log: {row['name']}", after.host, "",
            f"{_count(lines)}: {lines[-1][:_MOST]}", row["advice"], len(lines),
        )  # fmt: skip


def judge_since(before: Snapshot, after: Snapshot, folder: Path) -> Iterator[Finding]:
    """The lines that came between the run before on this node and this run; each is a warning.

    Args:
        before: the node before this run.
        after: the node after it.
        folder: keeps for each node how far its log was read; judged again, a run finds the same.
    """
    if before.log is None or after.log is None:
        return
    path = folder / f"{after.host}.json"
    try:
        known = json.loads(path.read_text())
        read, uptime, since = known["read"], known["uptime"], known["since"]
    except (OSError, ValueError, LookupError, TypeError):
        # Since when its first run should count nobody knows.
        read, uptime, since = _time(before.log), 0.0, 0.0
    if uptime != after.uptime:
        # After a boot the clock of the log begins again.
        since = read if uptime <= before.uptime else 0.0
        entry = {"read": _time(after.log), "uptime": after.uptime, "since": since}
        part = path.with_name(f".{path.name}.{os.getpid()}")
        # The next run reports again what is not kept.
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(entry))
            part.replace(path)
    for row, lines in _found(line for line in before.log if _time([line]) > since):
        yield Finding(
            Level.WARNING, f"kernel log before this run: {row['name']}", after.host, "",
            f"{_count(lines)}: {lines[-1][:_MOST]}", row["advice"], len(lines),
        )  # fmt: skip


def _time(lines: Sequence[str]) -> float:
    """Seconds of the last line on the log's own clock; 0 where there is none."""
    match = _TIME.match(lines[-1]) if lines else None
    return float(match[1]) if match else 0.0


def _found(lines: Iterable[str]) -> Iterator[tuple[Mapping[str, Any], list[str]]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        if name := _kind(line):
            found.setdefault(name, []).append(line)
    yield from ((row, found[row["name"]]) for row in _ROWS if row["name"] in found)


def _kind(line: str) -> str:
    return next((str(row["name"]) for row in _ROWS if row["pattern"].search(line)), "")


def _count(lines: Sequence[str]) -> str:
    return "one line" if len(lines) == 1 else f"{len(lines)} lines, the last"
