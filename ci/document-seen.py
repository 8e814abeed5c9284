#!/usr/bin/env python3
"""Write the table of what was seen over what in docs/reference/transports.md from a record.

Only cases of MPI whose transport was proved count. A record grows, so that no test compares them.

example:
    ci/document-seen.py perflogs
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabricheck.judge.levels import Level
from fabricheck.record.entries import CaseEntry
from fabricheck.record.read import entries
from generated import insert

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "transports.md"
COMMAND = "ci/document-seen.py"
UNPROVED = {Level.UNTRUSTED, Level.DISTURBED, ""}


def proved(perflogs: Path) -> Iterator[CaseEntry]:
    """The cases of MPI in a record whose transport was proved."""
    for path in sorted(perflogs.glob("*/*/*.jsonl")):
        for entry in entries(path)[0]:
            is_of_mpi = isinstance(entry, CaseEntry) and entry.mpi_version and entry.transport
            if is_of_mpi and entry.level not in UNPROVED:
                yield entry


def version(entry: CaseEntry) -> str:
    """The MPI's name and version, in short."""
    name, number = re.match(r"(.*?)[\s:v]*(\d[\w.]*)", str(entry.mpi_version)).groups()
    return f"{name.removesuffix(' Version').removesuffix(' Library')} {number}"


def table(perflogs: Path) -> Iterator[str]:
    """A line for each MPI: benchmarks over each transport, with all numbers of nodes above it."""
    cases = [*proved(perflogs)]
    transports = sorted({str(each.transport) for each in cases})
    heads = (f"`{name}`, nodes: {nodes(cases, name)}" for name in transports)
    yield f"| MPI | last | {' | '.join(heads)} |"
    yield "|---|---|" + "---|" * len(transports)
    for mpi in sorted({version(each) for each in cases}):
        own = [each for each in cases if version(each) == mpi]
        found = (
            len({each.benchmark for each in own if each.transport == name}) for name in transports
        )
        last = max(each.time for each in own)[:10]
        yield f"| {mpi} | {last} | {' | '.join(str(count or '-') for count in found)} |"


def nodes(cases: Iterable[CaseEntry], transport: str) -> str:
    """The numbers of nodes of the cases over a transport."""
    counts = sorted({each.num_nodes for each in cases if each.transport == transport})
    return ", ".join(map(str, counts))


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) != 1 or not any(proved(Path(given[0]))):
        sys.exit(
            "document-seen: expected one argument, a directory perflogs with proved cases of MPI, "
            f"found {' '.join(given) or 'none'}: the table stays as it is"
        )
    made = "\n".join(table(Path(given[0])))
    DOCUMENT.write_text(insert(DOCUMENT.read_text(), COMMAND, [made], DOCUMENT))
