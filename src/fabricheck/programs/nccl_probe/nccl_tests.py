"""Reader of nccl-tests (``all_reduce_perf`` and its kin): its two columns of buffers as curves.

Its head tells the sizes, and its end whether values were wrong. Only since 2.14 or so it prints
which test ran; before, the name must be given. The ratio of both bandwidths is the collective's.
With ``-J`` the program writes the same as JSON, which is read as the text that it would print.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import LACKING, Rows, half_digit, only, the_one
from fabricheck.programs.nccl_probe.entries import OPERATIONS, SHARED, benchmark_name

_EXAMPLE = "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) ... validation: 1"
_HEAD = re.compile(
    r"^#\s*nThread \d+ nGpus \d+ minBytes (\d+) maxBytes (\d+) step: (\d+)\((factor|bytes)\).* "
    r"validation: (\d)",
    re.MULTILINE,
)
_STARTING = re.compile(r"^# Collective test starting: (\w+)_perf", re.MULTILINE)
_DEVICE = re.compile(r"^#\s+Rank +\d+ .*?on +(\S+ device +\d+ \[\S+\])", re.MULTILINE)
_END = re.compile(r"^# Out of bounds values : (\d+ \w+)$", re.MULTILINE)
_ROW = re.compile(r"\s*\d+\s+\d+\s+[a-z]", re.ASCII)
_WIDTHS, _EACH, _CHECKED = (11, 12, 13), 4, "N/A"
_GB: Final = 1000
_DIGITS: Final = 0.002
"""What the four digits of a time leave open, as a share of it."""
_OF = {benchmark_name(each, "auto"): each for each in OPERATIONS}


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a program of nccl-tests printed."""
    if text.startswith("{"):
        return '"nccl_version"' in text and '"minimum_bytes"' in text
    return bool(_HEAD.search(text)) or ("out-of-place" in text and "algbw" in text)


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve with buffers for input and output of their own."""
    return the_one(curves(text, source, name), source, name)


def curves(text: str, source: str, name: str = "") -> list[Curve]:
    """The curves out of place and in place, bandwidths those of the bus.

    Raises:
        ParseError: if the head is missing, rows are missing, damaged, contradict themselves or are
            of another collective than ``name``, or data were wrong.
    """
    if text.startswith("{"):
        text = _printed(text, source)
    least, most, step, kind, checks = only(_HEAD, text, source, _EXAMPLE).groups()
    started, end, devices = _STARTING.search(text), _END.search(text), _DEVICE.findall(text)
    titles = {each.lower(): benchmark for benchmark, each in OPERATIONS.items()}
    if started:
        name = benchmark_name(titles.get(started[1].replace("_", ""), started[1]), "auto")
    if name not in _OF or (end and end[1] != "0 OK"):
        raise ParseError(
            f"FC1272 {source}: expected the results of a known test, or its name (--benchmark) of "
            f"{', '.join(_OF)}, without wrong data, found {name or 'none'}, {end and end[1]}"
        )
    share = 1 - 1 / max(len(devices), 1)
    factor = {"allreduce": 2 * share, "reduce": 1.0, "bcast": 1.0}.get(_OF[name], share)
    table = _Table(source, factor if devices else None, is_checked=checks != "0")
    for number, line in enumerate(text.split("\n"), start=1):
        if _ROW.match(line):
            table.read(number, line.split(), is_cut=number > text.count("\n"))
    first, last, by = int(least), int(most), int(step)
    steps = (
        math.log(last / max(first, 1), by) + _DIGITS if kind == "factor" else (last - first) / by
    )
    if not table.rows or (end and table.rows != int(steps) + 1):
        raise ParseError(
            f"FC1273 {source}: expected {int(steps) + 1} rows from {least} to {most} B, found "
            f"{table.rows}: rows are missing or repeated"
        )
    about = {"ranks": str(len(devices)), SHARED: str(len(set(devices)) < len(devices))}
    if not end:
        about[LACKING] = f"no end of the output, and {table.rows} of {int(steps) + 1} rows"
    return [
        Curve(name, "nccl-tests", "", None, {**about, "Buffers": key}, tuple(points), (), bool(end))
        for key, points in table.points.items()
    ]


def _printed(text: str, source: str) -> str:
    """What a program prints whose JSON this is, as far as it is read.

    Raises:
        ParseError: if it is none.
    """
    try:
        return "\n".join([*_lines(json.loads(text)), ""])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ParseError(
            f"FC3604 {source}: expected the JSON of nccl-tests, whole, found {error!r}: it was cut "
            "or edited"
        ) from error


def _lines(given: Mapping[str, Any]) -> Iterator[str]:
    config = given["config"]
    kind = "factor" if "step_factor" in config else "bytes"
    yield f"# Collective test starting: {given['args'][0].rpartition('/')[2]}"
    yield (
        f"# nThread {config['nthreads']} nGpus {config['ngpus']} minBytes {config['minimum_bytes']}"
        f" maxBytes {config['maximum_bytes']} step: {config[f'step_{kind}']}({kind}) "
        f"validation: {config['validation']}"
    )
    for each in config["devices"]:
        place = f"{each['hostname']} device {each['device']} [{each['device_hex']}]"
        yield f"#  Rank {each['rank']} on {place}"
    for row in given["results"]:
        words = [row[name] for name in ("size", "count", "type", "redop", "root")]
        for buffers in ("out_of_place", "in_place"):
            found = row[buffers]
            wrong = _CHECKED if found["nwrong"] is None else found["nwrong"]
            words += [found["time"], found["alg_bw"], found["bus_bw"], wrong]
        yield " ".join(str(word).strip() for word in words)
    if bounds := given.get("out_of_bounds"):
        yield f"# Out of bounds values : {bounds['count']} {'FAILED' if bounds['count'] else 'OK'}"


class _Table(Rows):
    """The rows, for buffers out of place and in place."""

    def __init__(self, source: str, factor: float | None, *, is_checked: bool) -> None:
        super().__init__(source)
        self.points: dict[str, list[Point]] = {"out of place": [], "in place": []}
        self.rows = self._width = 0
        self._factor, self._is_checked = factor, is_checked

    def read(self, number: int, words: list[str], *, is_cut: bool) -> None:
        """Take a row; of several with 0 bytes, to which small sizes are rounded, the first."""
        size, last = int(words[0]), max((p.size or 0 for p in self.points["in place"]), default=-1)
        self._width = self._width or len(words)
        fits = self._width == len(words) and len(words) in _WIDTHS and not is_cut
        if not fits or (size <= last and not size == last == 0):
            raise self._error(number, f"expected a whole row above {last} B, found {words}")
        self.rows += 1
        for start, points in zip((-2 * _EACH, -_EACH), self.points.values(), strict=True):
            point = self._point(number, size, words[start:][:_EACH])
            points.extend([point] if size != last else ())

    def _point(self, number: int, size: int, words: list[str]) -> Point:
        time, rate, bus = (self._value(number, "a number", word) for word in words[:3])
        wanted = size / time / _GB if time else 0.0
        pairs = [(rate, wanted), (bus, wanted * (self._factor or 0))][: 2 if self._factor else 1]
        off = half_digit(words[1]) + half_digit(words[2])
        if any(abs(found - value) > off + _DIGITS * value for found, value in pairs):
            raise self._error(
                number,
                f"expected algbw and busbw of {size} B in {time} us, found {rate} and {bus}: "
                "the row is damaged, or of another collective",
            )
        is_valid = self._is_checked and words[3] != _CHECKED
        values = {(Metric.LATENCY, "avg"): time, (Metric.BANDWIDTH, "avg"): bus * _GB}
        return Point(size, values, valid=True if is_valid else None)
