#!/usr/bin/env python3
"""Write the tables of docs/reference/metrics.md from the catalogue.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-metrics.py
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabricheck.monitor.catalog import CATALOG, Family, Source
from generated import write_or_check

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "metrics.md"


def families(rows: Iterable[Family]) -> Iterator[str]:
    """A line for each family."""
    yield "| name | type | unit | labels | meaning |"
    yield "|---|---|---|---|---|"
    for row in rows:
        labels = ", ".join(f"`{label}`" for label in row.labels) or "-"
        yield f"| `{row.name}` | {row.kind} | {row.unit or '1'} | {labels} | {row.meaning} |"


def older() -> Iterator[str]:
    """The names of the other benchmark."""
    yield "| older name | type | is |"
    yield "|---|---|---|"
    for row in CATALOG:
        if row.same_as:
            yield f"| `{row.name}` | {row.kind} | `{row.same_as}` |"


def main() -> int:
    """Write or check."""
    ours = [row for row in CATALOG if not row.same_as]
    tables = [
        *(families(rows) for source in Source if (rows := [r for r in ours if r.source is source])),
        older(),
    ]
    return write_or_check(
        __doc__, DOCUMENT, "ci/document-metrics.py", ["\n".join(table) for table in tables]
    )


if __name__ == "__main__":
    sys.exit(main())
