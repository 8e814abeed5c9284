"""Reader of GPCNet 1.x: each row of its tables is a curve of one size.

``network_test`` ends with Multiple Alltoall; ``network_load_test`` with as many impact factors as
it has network tests, so that a cut shows.
"""

import re
from collections.abc import Mapping
from typing import Final

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import LACKING, Rows, only, the_one
from fabricheck.programs.gpcnet.entries import BENCHMARKS
from fabricheck.units import MIB

_TITLE = re.compile(r"^Network(?P<load>Load)? Tests v(?P<version>\S+)$", re.MULTILINE)
_RANKS = re.compile(r"^  Test with (\d+) MPI ranks", re.MULTILINE)
_TEST = re.compile(r"(?P<test>\S.*) \( *(?P<size>\d{1,18}) B\)", re.ASCII)
_CLOSED = re.compile(r"^\|[^\n]*\n\+[-+]+\+\n[^|]*\Z", re.MULTILINE)
_GAP = re.compile(r"^\+[-+]+\+\n\+", re.MULTILINE)
_STATISTICS: Final[Mapping[str, str]] = {
    "Min": "min", "Max": "max", "Avg": "avg", "99%": "p99", "99.9%": "p99.9"
}  # fmt: skip
_UNITS: Final[Mapping[str, tuple[Metric, float, str]]] = {
    "usec": (Metric.LATENCY, 1.0, "rank_max"),
    "MiB/s/rank": (Metric.BANDWIDTH, MIB / 1e6, "rank_min"),
    "": (Metric.LOAD_RATIO, 1.0, ""),
}
"""The metric of a unit, what it is of ours, and what Avg(Worst) is in it."""
_KNOWN = {(each.printed, each.table): each for each in BENCHMARKS.values()}


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a program of GPCNet printed."""
    return bool(_TITLE.search(text)) or "Isolated Network Tests" in text


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of one test; of a congestor beside several tests the first."""
    return the_one(curves(text, source), source, name)


def curves(text: str, source: str, name: str = "") -> list[Curve]:
    """The curve of each row, in MB/s of 10^6 bytes.

    Raises:
        ParseError: if the title is missing, or a row is damaged or of no known test.
    """
    title, ranks = only(_TITLE, text, source, "Network Tests v1.3"), _RANKS.search(text)
    found = _Tables(source)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("|"):
            found.read(number, line.strip())
    names = {name for _, name, _ in found.rows}
    ends = [f"{n}_impact" for n in names] if title["load"] else ["gpcnet_multiple_alltoall"]
    absent = [n for n in ends if n in BENCHMARKS and n not in names]
    if not found.rows or _GAP.search(text):
        raise ParseError(f"FC1274 {source}: expected rows of tests, found none, or gaps: it is cut")
    about = {"ranks": ranks[1] if ranks else "0"}
    whole = not absent and bool(_CLOSED.search(text))
    if not whole:
        about[LACKING] = f"no end of the tables, no rows of {', '.join(sorted(absent)) or 'others'}"
    return [
        Curve(
            name, "gpcnet", title["version"], None, {**about, "Table": table}, (point,), (), whole
        )
        for table, name, point in found.rows
    ]


class _Tables(Rows):
    """The rows read so far: title of the table, benchmark, and values."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.rows: list[tuple[str, str, Point]] = []
        self._title = ""
        self._columns: list[str] = []

    def read(self, number: int, line: str) -> None:
        """Take a line of a table: its title, its columns or a row."""
        cells = [" ".join(cell.split()) for cell in line.strip("|").split("|")]
        if len(cells) == 1:
            self._title = cells[0]
        elif cells[0] in ("Name", ""):
            self._columns = cells
        else:
            self._add(number, dict(zip(self._columns, cells, strict=False)), line)

    def _add(self, number: int, cells: dict[str, str], line: str) -> None:
        kind = "impact" if "Key" in self._title else self._title.split()[0].lower()
        kind = kind if kind in ("impact", "isolated") else "congested"
        match, unit = _TEST.fullmatch(cells.pop("Name", cells.pop("", ""))), cells.pop("Units", "")
        entry = _KNOWN.get((match["test"], kind)) if match else None
        metric, factor, worst = _UNITS.get(unit, (None, 0.0, ""))
        is_whole = line.count("|") == len(self._columns) + 1
        if not (match and entry and metric and is_whole and entry.metrics == (metric,)):
            raise self._error(number, f"expected a known test, its values and unit, found {line!r}")
        names = {**_STATISTICS, "Avg(Worst)": worst}
        values = {
            (metric, names[title]): self._value(number, title, cell.removesuffix("X")) * factor
            for title, cell in cells.items()
        }
        self.rows.append((self._title, entry.name, Point(int(match["size"]), values)))
