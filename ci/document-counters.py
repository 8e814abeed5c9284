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
DRIVERS = {
    "any": "every port",
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


def drivers() -> Iterator[str]:
    """The table of drivers."""
    yield "| driver | kernel |"
    yield "|---|---|"
    for driver, title in DRIVERS.items():
        kernel = ", ".join(f"`{name}`" for name, own in KERNEL_DRIVERS.items() if own == driver)
        yield f"| {title} | {kernel or 'any'} |"


def counters() -> Iterator[str]:
    """The counters that are judged: a line for all that show the same; a finding has the advice."""
    yield "| what it shows | counters |"
    yield "|---|---|"
    alike: dict[str, dict[str, list[Counter]]] = {}
    for row in TABLE:
        bands = ", ".join(f"`{rule.band}`" for rule in row.rules)
        if bands:
            shown = row.advice.replace("{hosts}", "the nodes").partition(":")[0]
            kinds = alike.setdefault(shown, {})
            kinds.setdefault(f"{row.meaning}, {bands}", []).append(row)
    for shown, kinds in alike.items():
        cells = (
            kind if kind.endswith("`notice`") else f"{kind}<br>{'<br>'.join(names(rows))}"
            for kind, rows in kinds.items()
        )
        yield f"| {shown} | {'<br>'.join(cells)} |"


def names(rows: Iterable[Counter]) -> Iterator[str]:
    """The names of counters, by driver and place."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        place = "" if row.place in ("counters", "hw_counters") else f", {row.place.split()[0]}"
        alike.setdefault((row.driver, place), []).append(f"`{row.name}`")
    for (driver, place), own in alike.items():
        yield f"*{driver}{place}:* {', '.join(own)}"


def main() -> int:
    """Write or check."""
    tables = ["\n".join(table()) for table in (bands, drivers, counters)]
    return write_or_check(__doc__, DOCUMENT, "ci/document-counters.py", tables)


if __name__ == "__main__":
    sys.exit(main())
