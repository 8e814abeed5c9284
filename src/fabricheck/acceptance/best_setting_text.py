"""A sweep in words: what is better than the default, by how much, and what to write down."""

import shlex
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from fabricheck.acceptance.best_setting import ALL
from fabricheck.judge.levels import Level
from fabricheck.launch.varied import shown
from fabricheck.units import significant

_HEADS = ("setting", "sizes", "as good as the default", "interval", "it says", "rounds")


def show(found: dict[str, Any], console: Console) -> None:
    """Print what is better, what can't be trusted, and the table."""
    for line in lines(found):
        console.print(line, soft_wrap=True)
    table = Table(*_HEADS, box=None, pad_edge=False, header_style="bold")
    for row in found["ratios"]:
        ratio = "none" if row["ratio"] is None else significant(row["ratio"])
        cells = [shown(row["variables"]), row["range"], ratio, _ends(row), row["says"]]
        table.add_row(*cells, str(row["rounds"]))
    console.print()
    console.print(table)


def lines(found: dict[str, Any]) -> Iterator[str]:
    """What a reader must know before the table."""
    what = f"{found['benchmark']} {found['placement']} on {found['system']}:{found['partition']}"
    compared = f"{found['metric']} {found['statistic']}".strip() or "no values"
    yield (
        f"sweep of {what} with {found['environ']}: {found['rounds']} rounds of "
        f"{len(found['settings'])} settings, {compared}; all intervals hold together with 95 %"
    )
    if len(found["allocations"]) > 1:
        yield f"NOT IN ONE ALLOCATION, but in {', '.join(found['allocations'])}"
    for each in found["settings"]:
        if each["why"]:
            counts = ", ".join(f"{number} {level}" for level, number in each["levels"].items())
            yield f"{shown(each['variables'])} can't be trusted ({counts}): {each['why']}"
        if each["disturbed"]:
            left_out = f"{each['levels'][Level.DISTURBED]} of {found['rounds']} runs left out"
            yield f"{shown(each['variables'])}: {left_out}: {each['disturbed']}"
        if "nothing says" in each["evidence"]:
            yield f"{shown(each['variables'])}: {_unknown(each['evidence'])}"
    yield from _best(found)


def _best(found: dict[str, Any]) -> Iterator[str]:
    if not found["best"]:
        yield "nothing is shown to be better than the default"
    for row in found["best"]:
        yield (
            f"best for {row['range']}: {shown(row['variables'])}, {significant(row['ratio'])} "
            f"times as good as the default, {_ends(row)}"
        )
    whole = [row for row in found["best"] if row["range"] == ALL]
    for row in whole or found["best"]:
        beside = "" if whole else f" (for {row['range']}; over all sizes it is not shown better)"
        pairs = ", ".join(f"[{name}, '{_quoted(v)}']" for name, v in row["variables"].items())
        yield f"for environment {found['environ']} in the site file{beside}: env_vars: [{pairs}]"


def _quoted(value: str) -> str:
    """A value as YAML and then the shell read it: ReFrame writes it into a script as it is."""
    return shlex.quote(value).replace("'", "''")


def _unknown(evidence: str) -> str:
    return "; ".join(each for each in evidence.split("; ") if each.startswith("nothing says"))


def _ends(row: dict[str, Any]) -> str:
    return " to ".join(map(significant, row["interval"])) if row["interval"] else "none"
