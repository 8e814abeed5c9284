"""Strict reading of the tables of perftest's ``ib_*_lat`` and ``ib_*_bw`` (4.5 to 26.04).

A table has a title, the settings that the program took, a line of column names, rows, and a line of
dashes at its end. What perftest calls MB/sec, and later MiB/sec, is 2^20 bytes a second.

perftest's JSON file has the same digits, of the last size only (docs/explanation/decisions.md).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from fabricheck.errors import FabricheckError, ParseError
from fabricheck.measures.benchmark import ProgramBenchmark
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.programs.perftest.entries import BENCHMARKS, GPU
from fabricheck.programs.perftest.table import (
    BENCHMARK,
    CONNECTION,
    DEVICE,
    GID_INDEX,
    INLINE,
    LINK,
    MTU,
    PROGRAM,
    TITLE_LIKE,
    PerftestTable,
    read_table,
)
from fabricheck.tables import TEXT, Cell, rows
from fabricheck.units import MIB

_FIRST_OF_ALL, _LARGEST_OF_ALL = 2, 8 * MIB
_USED = (DEVICE, CONNECTION, MTU, LINK, GID_INDEX)

_COLUMNS = {"name": TEXT, "pattern": Cell("a regular expression", re.compile), "meaning": TEXT}
_ROWS = tuple(rows(Path(__file__).with_name("causes.csv"), _COLUMNS))
"""What perftest says of failures; the names are how our sentences begin."""

# It compares the processor's counter with the time of day, and gives up where they don't agree
# (get_cpu_mhz in get_clock.c of perftest 4.5 to 26.04).
_UNSTEADY = re.compile(r"Correlation coefficient r\^2: (\S+) < 0\.9")


def disturbances(errors: str) -> tuple[str, ...]:
    """What perftest noticed of other work; its figures are all zero then.

    Args:
        errors: the error output of the job.
    """
    return tuple(
        "perftest could not measure the processor's clock rate because other work delayed "
        f"it (a correlation of {found}, 0.9 is wanted)"
        for found in _UNSTEADY.findall(errors)[:1]
    )


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a client of perftest printed."""
    return any(TITLE_LIKE.match(line) for line in text.split("\n"))


def split_runs(text: str) -> list[str]:
    """The output of each run, where several were put together; a run begins with its title."""
    runs: list[str] = []
    titles = 0
    for line in text.splitlines(keepends=True):
        titles += bool(TITLE_LIKE.match(line.rstrip()))
        if titles > len(runs) or not runs:
            runs.append("")
        runs[-1] += line
    return runs


_WAITING = "* Waiting for client to connect... *"


def _of_one_end(text: str) -> str:
    """An output of both ends of one run, as of a loopback test, without what stands in it twice.

    The server prints the same settings, and of a single size the same row; a row that differs stays
    and is refused.
    """
    lines = text.splitlines(keepends=True)
    titles = sum(bool(TITLE_LIKE.match(line.rstrip())) for line in lines)
    if titles != len(("client", "server")) or text.count(_WAITING) != 1:
        return text
    seen: set[str] = set()
    kept = []
    for line in lines:
        words = " ".join(line.split())
        if not words.strip("-") or (words not in seen and not words.startswith("*")):
            kept.append(line)
        seen.add(words)
    return "".join(kept)


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of one run, or of several that were put together, as ``parse_runs``."""
    return parse_runs(split_runs(_of_one_end(text)), source)


def parse_runs(outputs: Sequence[str], source: str) -> Curve:
    """The curve that a client printed, in one run with all sizes or in one for each.

    The tables don't tell perftest's version.

    Args:
        outputs: the whole output of each run, with the line end of its last line.
        source: what to call the output in messages.

    Raises:
        ParseError: if a run has no table, more than one, or one that is empty, damaged or cut, or
            if the runs are not of the same test with the same settings, in the order of their
            sizes.
    """
    tables = []
    for number, text in enumerate(outputs, start=1):
        place = source if len(outputs) == 1 else f"{source}: run {number}"
        tables.append(read_table(text, place))
        _check_sweep(tables[-1].points, place)
    first = tables[0]
    for number, table in enumerate(tables[1:], start=2):
        for what, expected, found in _differences(first, table):
            raise ParseError(
                f"FC1214 {source}: run {number}: expected {what} {expected} as in run 1, found "
                f"{found}: outputs of several tests are put together"
            )
    points = [point for table in tables for point in table.points]
    _check_order(points, source)
    return Curve(
        benchmark=first.benchmark,
        program=PROGRAM,
        metadata=first.settings,
        points=tuple(points),
        remarks=tuple(dict.fromkeys(remark for table in tables for remark in table.remarks)),
        is_whole=len(tables) == 1 and points[-1].size == _last_of_all(first),
    )


def confirm(
    curve: Curve, benchmark: ProgramBenchmark, asked: Mapping[str, str], source: str
) -> Curve:
    """The curve as that of a benchmark, once perftest has said that it did what it was asked to.

    Args:
        curve: what was parsed, under the benchmark that it looks like.
        benchmark: the benchmark that was asked for.
        asked: settings by the names under which perftest prints them, such as ``CONNECTION``.
        source: what to call the output in messages.

    Raises:
        ParseError: naming what was asked for and what perftest used instead.
    """
    expected, found = dict(asked), dict(curve.metadata)
    options = [option for option in benchmark.options if option != GPU]
    if "-I" in options:
        place = options.index("-I")
        expected[INLINE] = options[place + 1]
        del options[place : place + 2]
    plain = next(
        each.name
        for each in BENCHMARKS.values()
        if (each.program, each.options) == (benchmark.program, tuple(options))
    )
    expected[BENCHMARK], found[BENCHMARK] = plain, curve.benchmark
    for key, value in expected.items():
        if found.get(key) != value:
            raise ParseError(
                f"FC1215 {source}: expected {key} {value}, found {found.get(key, 'none')}: "
                "perftest did not do what it was asked to, so its figures belong to another test"
            )
    return replace(curve, benchmark=benchmark.name)


def confirm_gpu(outputs: Sequence[str], source: str, *, dmabuf: bool) -> None:
    """Make sure that each run of an end took memory of a GPU.

    Raises:
        ParseError: if one says nothing of it.
    """
    words = "using DMA-BUF for GPU buffer" if dmabuf else "GPU buffer"
    lacking = sum(words not in text for text in outputs)
    if lacking:
        raise ParseError(
            f"FC3110 {source}: expected '{words}' of perftest in {len(outputs)} runs, found it not "
            f"in {lacking}: its data were in host memory; build it with CUDA or ROCm, or set "
            "gpu_peermem where the driver has no dmabuf"
        )


def confirm_case(curve: Curve, placement: str, source: str) -> None:
    """Make sure that a curve is of the connection type that its placement names.

    Raises:
        FabricheckError: if it is of another, or does not say.
    """
    told = curve.metadata.get(CONNECTION, "").lower()
    if told != placement.partition("-")[0]:
        raise FabricheckError(
            f"FC1216 {source}: expected the connection type of {placement}, found "
            f"{told or 'none'}: its references are not those of this curve; correct --placement"
        )


def cause(words: str, gid_index: int | None) -> str | None:
    """The cause of a failure in one sentence, where the words of both ends name one.

    Args:
        words: all that the ends printed.
        gid_index: the index that was asked for, ``None`` for perftest's own choice.
    """
    asked = "perftest's own choice" if gid_index is None else gid_index
    for row in _ROWS:
        if match := row["pattern"].search(words):
            sentence = f"{row['name'].replace('…', '{}')}, {row['meaning']}"
            return sentence.format(*match.groups(), gid_index=asked)
    return None


def used(curve: Curve) -> str:
    """The settings that say which way the data went."""
    return ", ".join(f"{key} {curve.metadata.get(key, 'none')}" for key in _USED)


def least_packets(curve: Curve) -> tuple[int, int]:
    """The packets that server and client must have sent, whatever else they sent.

    The client of a one-way test sends the data, the server at most acknowledgements; in a latency
    test and in both directions each sends. A read asks with one packet and is answered with the
    data, an atomic is answered with one.
    """
    benchmark = BENCHMARKS[curve.benchmark]
    mtu = int(curve.metadata[MTU])
    counts = [(point.size or 0, point.iterations or 0) for point in curve.points]
    requests = sum(count for _, count in counts)
    data = sum(-(-size // mtu) * count for size, count in counts)
    both_ways = Metric.LATENCY in benchmark.metrics or "-b" in benchmark.options
    if benchmark.program.startswith(("ib_send", "ib_write")):
        return (data if both_ways else 0), data
    answered = data, requests
    if "-b" in benchmark.options:
        return sum(answered), sum(answered)
    return answered


def posted_at_once(benchmark: ProgramBenchmark) -> int:
    """How many requests a benchmark posts together; iterations must be a multiple of it."""
    options = benchmark.options
    return int(options[options.index("-l") + 1]) if "-l" in options else 1


def _differences(first: PerftestTable, table: PerftestTable) -> Iterator[tuple[str, str, str]]:
    yield from (
        (key, first.settings.get(key, "none"), table.settings.get(key, "none"))
        for key in _USED
        if first.settings.get(key) != table.settings.get(key)
    )
    if first.benchmark != table.benchmark:
        yield BENCHMARK, first.benchmark, table.benchmark


def _last_of_all(table: PerftestTable) -> int:
    """The last size of a run with all sizes, in bytes: a datagram is one packet."""
    is_datagram = table.settings.get(CONNECTION) == "UD"
    return int(table.settings[MTU]) if is_datagram else _LARGEST_OF_ALL


def _check_sweep(points: Sequence[Point], source: str) -> None:
    """Several rows of one run are those of ``-a``, whose sizes double from 2 B."""
    sizes = [point.size or 0 for point in points]
    for before, size in pairwise(sizes):
        if size != 2 * before:
            raise ParseError(
                f"FC1217 {source}: expected {2 * before} B after {before} B, found {size} B: rows "
                "are missing, repeated (as with --run_infinitely) or out of order"
            )
    if len(sizes) > 1 and sizes[0] != _FIRST_OF_ALL:
        raise ParseError(
            f"FC1218 {source}: expected a sweep (-a) from {_FIRST_OF_ALL} B on, found one from "
            f"{sizes[0]} B: its first rows are missing"
        )


def _check_order(points: Sequence[Point], source: str) -> None:
    sizes = [point.size or 0 for point in points]
    for before, size in pairwise(sizes):
        if size <= before:
            raise ParseError(
                f"FC1219 {source}: expected a size greater than {before}, found {size}: rows are "
                "repeated or out of order; run the benchmark again with its output in a "
                "separate file"
            )
