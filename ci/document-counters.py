#!/usr/bin/env python3
"""Write the tables of bands and counters in docs/reference/fabric-health.md from the code.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-counters.py
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabricheck.fabric.counters import BANDS, KERNEL_DRIVERS, TABLE, Band, Counter, Measure
from generated import write_or_check

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "fabric-health.md"
TITLES = {
    "any": "Every port",
    "mlx5": "mlx5 (NVIDIA ConnectX, BlueField)",
    "bnxt_re": "bnxt_re (Broadcom NetXtreme-E)",
    "irdma": "irdma (Intel E810, X722)",
    "rxe": "rxe (Soft-RoCE)",
}


def bands() -> Iterator[str]:
    """The table of bands."""
    yield "| band | compared | warning above, or from | critical above | from |"
    yield "|---|---|---|---|---|"
    for name, band in BANDS.items():
        since = "from " if band.good else ""
        limits = f"{since}{amount(band, band.warning)} | {amount(band, band.critical)}"
        yield f"| `{name}` | {band.measure} | {limits} | {band.source} |"


def amount(band: Band, limit: float | None) -> str:
    """A limit as it stands in a finding."""
    if limit is None:
        return "never"
    if band.measure is Measure.RATE:
        return f"{limit:g}/s"
    return f"{limit:g}" if band.measure is Measure.RISE else f"{limit * 100:g} %"


def counters() -> Iterator[str]:
    """The table of counters, those that are told and judged alike in one line."""
    for driver, title in TITLES.items():
        kernel = ", ".join(f"`{name}`" for name, own in KERNEL_DRIVERS.items() if own == driver)
        yield from ("", f"### {title}", "")
        if kernel:
            yield from (f"Adapters that are bound to {kernel}.", "")
        yield "| counters | in | meaning | band | what it shows | source |"
        yield "|---|---|---|---|---|---|"
        yield from lines(row for row in TABLE if row.driver == driver)


def lines(rows: Iterable[Counter]) -> Iterator[str]:
    """One line for all rows that differ in nothing but their name."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        judged = "<br>".join(
            f"`{rule.band}`" + (f" of {', '.join(rule.of)}" if rule.of else "")
            for rule in row.rules
        )
        advice = row.advice.replace("{hosts}", "the nodes")
        key = (row.place, row.meaning, judged or "none", advice, row.source)
        alike.setdefault(key, []).append(f"`{row.name}`")
    for (place, *others), names in alike.items():
        yield f"| {', '.join(names)} | {place} | {' | '.join(others)} |"


def main() -> int:
    """Write or check."""
    tables = ["\n".join(bands()), "\n".join(counters())]
    return write_or_check(__doc__, DOCUMENT, "ci/document-counters.py", tables)


if __name__ == "__main__":
    sys.exit(main())
