"""Reader of what the Intel MPI Benchmarks print (3.2 to 2021): every table of an output.

The output lists what will run, names the largest message and marks its end, so that a table that
is cut, and one that never came, are seen. A table is not whole where the program left sizes out for
want of memory or time.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import LACKING, Rows, only, the_one
from fabricheck.measures.registry import sweep
from fabricheck.programs.imb.entries import BENCHMARKS, ImbBenchmark
from fabricheck.units import MIB

_EXAMPLE = "# Intel(R) MPI Benchmarks 2021.11, MPI-1 part"
_TITLE = re.compile(
    r"^#\s+Intel ?\(R\) MPI Benchmarks?(?: Suite)? V?(?P<version>[^,\n]+), (?P<part>\S+) part", re.M
)
_TABLE = re.compile(r"^# Benchmarking (?:Multi-)?(\S+)(?: \([\d x]+\))?\s*$", re.M)
_LIST = re.compile(r"^# List of Benchmarks to run:\n((?:#(?!-).*\n|\n)*)", re.M)
_LISTED = re.compile(r"^# (\w+) *$|Benchmark \w+ is invalid", re.M)
_INVALID = re.compile(r"Benchmark (\w+) is invalid")
_BOUNDS = re.compile(r"^# M\w+imum message length in bytes:\s+(\d{1,18})$", re.M)
_FROM = re.compile(r"^# .* -msglog (\d{1,2}):", re.M)
_OWN_SIZES = re.compile(r"^# .*(?:-msg(?:len|size|sz)\b|user defined)", re.M)
_END = re.compile(r"^# All processes entering MPI_Finalize", re.M)
_ABOUT = re.compile(
    r"# #processes = (?P<ranks>\d+)|# \( (?P<Groups>\d+ groups of (?P<each>\d+) processes)"
    r"|#\s+MODE: (?P<Mode>[A-Z-]+)|\[ (?P<Tail>.+) \]"
)
_LEFT_OUT = re.compile(r"out-of-mem|time-out", re.I)
_ROW = re.compile(r"\s*[-+.]?\d", re.ASCII)
_DECIMAL_MB: Final = 2018
"""The first version whose MB are 10^6 bytes, and not 2^20."""

_SIZE, _COUNT, _DEFECTS = "#bytes", "#repetitions", "defects"
_VALUES: Mapping[str, tuple[Metric, str]] = {
    "t[usec]": (Metric.LATENCY, "avg"),
    "t_avg[usec]": (Metric.LATENCY, "avg"),
    # Of the fastest and the slowest rank.
    "t_min[usec]": (Metric.LATENCY, "rank_min"),
    "t_max[usec]": (Metric.LATENCY, "rank_max"),
    "t_ovrl[usec]": (Metric.LATENCY, "avg"),
    "t_pure[usec]": (Metric.COMMUNICATION, "avg"),
    "t_CPU[usec]": (Metric.COMPUTATION, "avg"),
    "overlap[%]": (Metric.OVERLAP, "avg"),
    "Mbytes/sec": (Metric.BANDWIDTH, "avg"),
    "Msg/sec": (Metric.MESSAGE_RATE, "avg"),
}


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a program of IMB printed."""
    return bool(_TITLE.search(text) or _TABLE.search(text))


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of one table, chosen as ``the_one`` does."""
    return the_one(curves(text, source), source, name)


def curves(text: str, source: str, name: str = "") -> list[Curve]:
    """The curve of each table.

    Raises:
        ParseError: if a table is empty, damaged, or marked invalid by the program's own data
            validation; if the head is missing, or a table or size of an output with an end.
    """
    title, ended = only(_TITLE, text, source, _EXAMPLE), _END.search(text)
    tables: list[_Table] = []
    component = re.sub("^(IMB|MPI)-", "", title["part"]).replace("1", "MPI1")
    readable = {each.printed: each for each in BENCHMARKS.values() if each.component == component}
    starts = list(_TABLE.finditer(text))
    listed = set(_LISTED.findall(match[1])) if (match := _LIST.search(text)) else set()
    printed = {each[1] for each in starts}
    absent = sorted(listed - {""} - printed - {*_INVALID.findall(text)})
    if printed - readable.keys() or not printed or (ended and absent):
        wrong = sorted(printed - readable.keys()) or [f"no table of {', '.join(absent) or 'any'}"]
        raise ParseError(
            f"FC1271 {source}: expected tables of IMB-MPI1, P2P, NBC or RMA, of each that it "
            f"lists, found {', '.join(wrong)} in the {title['part']} part: it is cut, or not read"
        )
    ends = [each.start() for each in starts[1:]] + [ended.start() if ended else len(text)]
    for start, end in zip(starts, ends, strict=True):
        is_last = not ended and end == len(text)
        table = _Table(source, readable[start[1]], text, title["version"])
        first = text.count("\n", 0, start.end()) + 1
        for number, line in enumerate(text[start.end() : end].split("\n"), start=first):
            table.read(number, line)
        if is_last:
            later = f", and no rows of {', '.join(absent)}" if absent else ""
            table.lacks.append(f"no end of the output{later}")
        if table.points or not is_last or not tables:
            tables.append(table)
        else:
            tables[-1].lacks += [f"no rows of {start[1]}", *table.lacks]
    return [each.curve() for each in tables]


class _Table(Rows):
    """One table: what stands above its columns, and its rows."""

    def __init__(self, source: str, entry: ImbBenchmark, text: str, version: str) -> None:
        super().__init__(source)
        self.points: list[Point] = []
        self.lacks: list[str] = []
        self._entry, self._version = entry, version
        self._columns: list[str] = []
        self._about: dict[str, str] = {}
        self._end, self._number = text.count("\n") + 1, 0
        bounds, least = _BOUNDS.findall(text), entry.min_size or 0
        if _OWN_SIZES.search(text) or len(bounds) != len("<>"):
            self.lacks += ["sizes were user defined"] * bool(least)
            self._sizes: Sequence[int | None] | None = None
        elif least == entry.max_size or not least:
            self._sizes = [least or None]
        else:
            first = 1 << int(match[1]) if (match := _FROM.search(text)) else 1
            self._sizes = [0] * (bounds[0] == "0") + [*sweep(max(first, least), int(bounds[1]))]

    def read(self, number: int, line: str) -> None:
        """Take a line: of what stands above the columns, the columns, or a row."""
        words = line.split()
        if _LEFT_OUT.search(line):
            self.lacks.append(line.strip())
        elif words and words[0] in (_SIZE, _COUNT) and not self._columns:
            self._columns = words
        elif match := _ABOUT.match(line):
            given = {key: text for key, text in match.groupdict().items() if text}
            if "Tail" in given and self.points:
                given = {f"Tail of {self.points[-1].size} B": given["Tail"]}
            if "each" in given:
                given["ranks"] = given.pop("each")
            self._about |= given
        elif _ROW.match(line):
            self._number = number
            self._add(number, words)

    def curve(self) -> Curve:
        """The curve of the rows: all, if the table has an end."""
        absent = (self._sizes or ())[len(self.points) :]
        if not self.points or (absent and not self.lacks):
            raise self._error(
                self._number, f"expected rows of {self._entry.printed} up to {absent or 'any'} B, "
                f"found {len(self.points)} rows: the output is cut or damaged"
            )  # fmt: skip
        lacks = {LACKING: "; ".join(self.lacks)} if self.lacks else {}
        about, points = {**self._about, **lacks}, tuple(self.points)
        name, version = self._entry.name, self._version
        return Curve(name, "imb", version, None, about, points, is_whole=not lacks)

    def _add(self, number: int, words: list[str]) -> None:
        columns = self._columns
        unknown = set(columns) - {*_VALUES, _SIZE, _COUNT, _DEFECTS}
        has_size = (_SIZE in columns) == (self._entry.min_size is not None)
        if len(words) != len(columns) or unknown or not has_size or number == self._end:
            raise self._error(
                number,
                f"expected a row of known columns and its line end ({' '.join(columns)}), "
                f"found {' '.join(words)[:120]!r}: it is cut or mixed with other output",
            )
        cells = dict(zip(columns, words, strict=True))
        size = self._whole(number, _SIZE, cells[_SIZE]) if _SIZE in cells else None
        sizes, last = self._sizes, self.points[-1].size if self.points else -1
        place = len(self.points)
        fits = [size] == [*sizes[place : place + 1]] if sizes else (size or 0) > (last or 0)
        if not fits:
            raise self._error(number, f"expected the size after {last} B, found {size}")
        values = {_VALUES[c]: self._value(number, c, w) for c, w in cells.items() if c in _VALUES}
        if (Metric.BANDWIDTH, "avg") in values and int(
            self._version[:4].split(".")[0]
        ) < _DECIMAL_MB:
            values[Metric.BANDWIDTH, "avg"] *= MIB / 1e6
        if _DEFECTS in cells and self._value(number, _DEFECTS, cells[_DEFECTS]):
            raise self._error(number, f"data validation failed, found {cells[_DEFECTS]} defects")
        count = self._whole(number, _COUNT, cells[_COUNT], least=1)
        self.points.append(Point(size, values, count, True if _DEFECTS in cells else None))
