#!/usr/bin/env python3
"""Write the tables of docs/reference/metrics.md from the catalogue.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-metrics.py
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabricheck.monitor.catalog import CATALOG, Family, Source
from generated import write_or_check

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "metrics.md"


def families(rows: Sequence[Family]) -> Iterator[str]:
    """A line for each family; labels that most have are named before the table."""
    common = shared(rows)
    if common:
        yield f"Labels of all, unless noted: {', '.join(f'`{label}`' for label in common)}."
        yield ""
    yield "| name | labels | meaning |"
    yield "|---|---|---|"
    for row in rows:
        yield f"| `{row.name}` | {labels(row, common)} | {row.meaning}{kind(row)} |"


def kind(row: Family) -> str:
    """The type of a family where its name does not say it."""
    usual = "counter" if row.name.endswith("_total") else "gauge"
    return "" if row.kind == usual else f" A {row.kind}."


def labels(row: Family, common: Sequence[str]) -> str:
    """The labels of a family beside the common ones, or all where it lacks one of these."""
    if not set(common) <= set(row.labels):
        return "only " + (", ".join(f"`{label}`" for label in row.labels) or "none")
    return ", ".join(f"`{label}`" for label in row.labels if label not in common)


def shared(rows: Sequence[Family]) -> tuple[str, ...]:
    """The labels that two thirds of the families have, where they are several."""
    counted = Counter(label for row in rows for label in row.labels)
    return tuple(label for label, count in counted.items() if 3 * count > 2 * len(rows))


def older() -> Iterator[str]:
    """The names of the other benchmark."""
    yield "| older name | is |"
    yield "|---|---|"
    for row in CATALOG:
        if row.same_as:
            yield f"| `{row.name}` | `{row.same_as}` |"


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
