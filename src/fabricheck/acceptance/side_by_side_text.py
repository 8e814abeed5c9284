"""Two sides beside each other, in words: on the terminal and on a page."""

from collections import Counter
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from fabricheck.acceptance.answers import Scope
from fabricheck.acceptance.record import page_of
from fabricheck.acceptance.side_by_side import SAME, WHOLE
from fabricheck.measures.metrics import size_label
from fabricheck.report.curves import PRIMARY
from fabricheck.report.files import write_whole
from fabricheck.units import significant, with_unit

_HEADS: Final = ("of what", "B is as good", "interval of 95 %", "verdict", "sessions", "A", "B")


def show(found: dict[str, Any], console: Console, *, every: bool) -> None:
    """Print the answer, the table of ratios, what has no partner, and what was left out."""
    for line in lines(found):
        console.print(line, soft_wrap=True)
    table = Table(*_HEADS, box=None, pad_edge=False, header_style="bold")
    for row in found["ratios"]:
        if every or row["scope"] != Scope.SERIES or row["says"] != SAME:
            table.add_row(row["name"], *cells(row))
    console.print()
    console.print(table)


def lines(found: dict[str, Any]) -> Iterator[str]:
    """What a reader must know before the table."""
    whole = [row for row in found["ratios"] if row["scope"] == WHOLE]
    series = Counter(row["says"] for row in found["ratios"] if row["scope"] == Scope.SERIES)
    for row in whole:
        ratio, ends, says, *_ = cells(row)
        yield f"B ({found['b']}) is {ratio} times as good as A ({found['a']}), {ends}: {says}"
    counts = ", ".join(f"{number} {says}" for says, number in series.most_common())
    yield f"{series.total()} series: {counts}"
    how = "that have both sides, paired" if found["paired"] else "of one side each, not paired"
    yield f"{len(found['sessions'])} sessions {how}"
    for each in found["lacking"]:
        there = f"in {each['a']} sessions of A, {each['b']} of B"
        yield f"without partner: {each['name']}, {each['series']} series, {there}"
    for each in found["critical"]:
        yield f"compared though critical: {each['values']} values of {each['side']}"
    for each in found["left_out"]:
        yield f"left out: {each['values']} values of {each['side']}, {each['why']}"


def cells(row: dict[str, Any]) -> list[str]:
    """What the table says of a ratio."""
    ends = " to ".join(map(significant, row["interval"])) if row["interval"] else "none"
    unit = row["fields"].get("unit", "")
    medians = ["" if row[side] is None else with_unit(row[side], unit) for side in "ab"]
    return [
        significant(row["ratio"]),
        ends,
        row["says"],
        " and ".join(map(str, row["sessions"])),
        *medians,
    ]


def write_page(found: dict[str, Any], path: Path) -> None:
    """Write the page: the answer, the figure, and the whole table."""
    words = {"cells": cells, "label": size_label, "log": log, "heads": _HEADS, "primary": PRIMARY}
    write_whole(path, page_of("side_by_side.html", found=found, lines=list(lines(found)), **words))
