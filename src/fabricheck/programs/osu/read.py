"""Reader of what the OSU Micro-Benchmarks (5.9 to 7.x) print.

It is strict: lines of other programs (UCX logs, srun) are skipped only where they cannot be a
row, and a table that is cut, mixed up or repeated is an error, never a shorter curve.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fabricheck.errors import ParseError
from fabricheck.measures import unread
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.gpu import GpuPath
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import untitled
from fabricheck.measures.program_result import ProgramResult
from fabricheck.measures.registry import REGISTRY, next_size
from fabricheck.programs.cuda_mpi.entries import benchmark_name
from fabricheck.programs.osu.entries import BENCHMARKS
from fabricheck.programs.osu.table import OsuTable, is_column_line, read_columns

_TITLE = re.compile(r"^#\s+OSU\s+(?P<printed>MPI.*?)\s+v(?P<version>\d[\w.+-]*)$")
_TITLE_START = re.compile(r"^#\s+OSU\b")
_METADATA = re.compile(r"^#\s*(?P<key>[A-Za-z][\w /-]*?):\s+(?P<value>.+)$")
_BRACKETED_METADATA = re.compile(r"\[ (?P<key>[^\]:]+): (?P<value>[^\]]+) \]")
_VALIDATION_ERROR = "DATA VALIDATION ERROR"
_SHOWN_TITLES = 5


def is_output(text: str) -> bool:
    """Whether a text is meant to be what a program of OSU printed."""
    return any(map(_TITLE_START.match, text.split("\n")))


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of the one table, which has no end mark.

    Raises:
        ParseError: if there is no table, more than one, or one that is empty, damaged, cut or
            marked invalid by the program's own data validation.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    title_number = _find_title(lines, source)
    title = _TITLE.match(lines[title_number - 1])
    if title is None:
        raise ParseError(
            f"FC1206 {source}: line {title_number}: expected a title with a version, found "
            f"{lines[title_number - 1]!r}: the title is cut or damaged"
        )
    if unread.name_of(lines[title_number - 1 : title_number]):
        raise untitled(lines, source)
    benchmark = _find_benchmark(title["printed"], name, f"{source}: line {title_number}")
    if benchmark.family == "startup":
        return _parse_startup(text, source, benchmark, title["version"])
    _refuse_validation_error(lines, source)
    _refuse_rows_before(lines[: title_number - 1], source)

    table = OsuTable(source, benchmark)
    metadata = _read_body(lines, title_number, table)
    table.finish(cut=not text.endswith("\n") and table.last_row == len(lines))
    datatype = metadata.pop("Datatype", None)
    return Curve(
        benchmark=benchmark.name,
        program="osu",
        version=title["version"],
        datatype=datatype.rstrip(".") if datatype else None,
        metadata=metadata,
        points=tuple(table.points),
    )


def _find_title(lines: Sequence[str], source: str) -> int:
    numbers = [n for n, line in enumerate(lines, start=1) if _TITLE_START.match(line)]
    if len(numbers) == 1:
        return numbers[0]
    if not numbers:
        raise untitled(lines, source)
    shown = ", ".join(map(str, numbers[:_SHOWN_TITLES]))
    more = ", ..." if len(numbers) > _SHOWN_TITLES else ""
    raise ParseError(
        f"FC1207 {source}: expected one table, found {len(numbers)} (titles at lines "
        f"{shown}{more}): either the job ran as {len(numbers)} separate programs because the "
        "launcher's PMI does not fit this MPI, or the outputs of several runs were put together"
    )


def _find_benchmark(printed: str, name: str, place: str) -> MpiBenchmark:
    every = (each for each in REGISTRY.values() if isinstance(each, MpiBenchmark))
    found = {each.name: each for each in every if each.printed == printed}
    if not found:
        raise ParseError(
            f"FC1208 {place}: unknown benchmark {printed!r}: fabricheck reads the tables of "
            f"{', '.join(BENCHMARKS)}"
        )
    return found.get(name) or next(iter(found.values()))


def _refuse_validation_error(lines: Sequence[str], source: str) -> None:
    for number, line in enumerate(lines, start=1):
        if _VALIDATION_ERROR in line:
            raise ParseError(
                f"FC1209 {source}: line {number}: data validation failed, the received data was "
                f"wrong: {line.strip()!r}"
            )


def _refuse_rows_before(lines: Sequence[str], source: str) -> None:
    for number, line in enumerate(lines, start=1):
        if OsuTable.is_full_row(line):
            raise ParseError(
                f"FC1210 {source}: line {number}: expected the title line before any row, found "
                f"the row {line.strip()!r}: the start of the table is missing or lines are mixed up"
            )


def _read_body(lines: Sequence[str], title_number: int, table: OsuTable) -> dict[str, str]:
    metadata: dict[str, str] = {}
    for number, line in enumerate(lines[title_number:], start=title_number + 1):
        # Of its barriers OSU 5 names the columns without "#".
        if line.startswith("#") or (is_column_line(line) and not read_columns(line)[1]):
            if not table.read_comment(number, line) and not table.columns:
                metadata.update(_read_metadata(line))
        else:
            table.read_line(number, line)
    return metadata


def _read_metadata(line: str) -> dict[str, str]:
    if match := _METADATA.match(line):
        return {match["key"]: match["value"].strip()}
    return {match["key"]: match["value"] for match in _BRACKETED_METADATA.finditer(line)}


_INIT = re.compile(
    r"^nprocs: (?P<ranks>\d+), min: (?P<min>\d+) ms, max: (?P<max>\d+) ms, avg: (?P<avg>\d+) ms$",
    re.ASCII | re.MULTILINE,
)
_HELLO = re.compile(r"^This is a test with (?P<ranks>\d+) processes$", re.ASCII | re.MULTILINE)


def _parse_startup(text: str, source: str, benchmark: MpiBenchmark, version: str) -> Curve:
    """The one point of a startup test: times of ``MPI_Init``, none of a hello.

    Args:
        text: the whole output.
        source: what to call the text in messages.
        benchmark: whose title the output has.
        version: OSU's.

    Raises:
        ParseError: if the line is missing, damaged or there twice.
    """
    pattern = _INIT if Metric.STARTUP in benchmark.metrics else _HELLO
    found = list(pattern.finditer(text.replace("\r\n", "\n")))
    if len(found) != 1:
        raise ParseError(
            f"FC1211 {source}: expected one line with the number of ranks after the title of "
            f"{benchmark.osu_program}, found {len(found)}: the output is cut or damaged, or those "
            "of several runs were put together"
        )
    fields = found[0].groupdict()
    ranks = fields.pop("ranks")
    values = {(Metric.STARTUP, name): float(value) for name, value in fields.items()}
    metadata = {"ranks": ranks}
    return Curve(benchmark.name, "osu", version, None, metadata, (Point(None, values),))


def from_result(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run of ``mpi_probe``, which measures what OSU's programs do.

    Raises:
        ParseError: if the registry has no such benchmark, or if sizes are missing between others.
    """
    memory, path = result.options.get("buffer", "host"), result.options.get("path", GpuPath.AWARE)
    name = benchmark_name(result.benchmark, memory, path)
    known = {n: e for n, e in REGISTRY.items() if isinstance(e, MpiBenchmark) and e.in_probe}
    benchmark = known.get(name)
    if benchmark is None:
        result.refuse(f"unknown benchmark {name!r} of mpi_probe: known are {', '.join(known)}")
    points: list[Point] = []
    for each in result.results:
        size = each.get("size") if benchmark.min_size is None else result.need(each, "size", int)
        if points and size != next_size(points[-1].size or 0):
            result.refuse(
                f"expected size {next_size(points[-1].size or 0)} after {points[-1].size}, found "
                f"{size}: results are missing, repeated or out of order"
            )
        values = dict(
            value
            for metric in benchmark.metrics
            for value in result.values(each, metric.value, metric)
        )
        iterations = result.need(each, "iterations", int)
        if path == GpuPath.STAGED:
            _need_copies(result, each, size * iterations)
        valid, segments = each.get("valid"), each.get("tcp_segments")
        points.append(Point(size, values, iterations, valid, segments))
    return result.curve(name, points)


def _need_copies(result: ProgramResult, found: Mapping[str, Any], payload: int) -> None:
    """The first rank, which sends in every benchmark, has copied all that it sent to the host."""
    copied = result.need(found, "copied_out", int)
    if copied < payload:
        result.refuse(
            f"expected {payload} B or more copied from the GPU at size {found['size']} on the "
            f"staged path, found {copied}: MPI got other memory"
        )


RESULTS = {"mpi_probe": from_result}
