"""Reader of what the OSU Micro-Benchmarks (5.9 to 7.x) print.

It is strict: lines of other programs (UCX logs, srun) are skipped only where they cannot be a
row, and a table that is cut, mixed up or repeated is an error, never a shorter curve.
"""

import re
from collections.abc import Sequence

from fabricheck.errors import ParseError
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import untitled
from fabricheck.measures.registry import REGISTRY
from fabricheck.programs.osu import probe
from fabricheck.programs.osu.entries import BENCHMARKS
from fabricheck.programs.osu.table import Table

_TITLE = re.compile(r"^#\s+OSU\s+(?P<printed>MPI.*?)\s+v(?P<version>\d[\w.+-]*)$")
_TITLE_START = re.compile(r"^#\s+OSU\b")
_METADATA = re.compile(r"^#\s*(?P<key>[A-Za-z][\w /-]*?):\s+(?P<value>.+)$")
_BRACKETED_METADATA = re.compile(r"\[ (?P<key>[^\]:]+): (?P<value>[^\]]+) \]")
RESULTS = {"mpi_probe": probe.curve}
"""What makes a curve of the results of our own program for the same benchmarks."""

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
            f"{source}: line {title_number}: expected a title with a version, found "
            f"{lines[title_number - 1]!r}: the title is cut or damaged"
        )
    benchmark = _find_benchmark(title["printed"], name, f"{source}: line {title_number}")
    if benchmark.family == "startup":
        return _parse_startup(text, source, benchmark, title["version"])
    _refuse_validation_error(lines, source)
    _refuse_rows_before(lines[: title_number - 1], source)

    table = Table(source, benchmark)
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
        f"{source}: expected one table, found {len(numbers)} (titles at lines {shown}{more}): "
        f"either the job ran as {len(numbers)} separate programs because the launcher's PMI does "
        "not fit this MPI, or the outputs of several runs were put together"
    )


def _find_benchmark(printed: str, name: str, place: str) -> MpiBenchmark:
    every = (each for each in REGISTRY.values() if isinstance(each, MpiBenchmark))
    found = {each.name: each for each in every if each.printed == printed}
    if not found:
        raise ParseError(
            f"{place}: unknown benchmark {printed!r}: fabricheck reads the tables of "
            f"{', '.join(BENCHMARKS)}"
        )
    return found.get(name) or next(iter(found.values()))


def _refuse_validation_error(lines: Sequence[str], source: str) -> None:
    for number, line in enumerate(lines, start=1):
        if _VALIDATION_ERROR in line:
            raise ParseError(
                f"{source}: line {number}: data validation failed, the received data was wrong: "
                f"{line.strip()!r}"
            )


def _refuse_rows_before(lines: Sequence[str], source: str) -> None:
    for number, line in enumerate(lines, start=1):
        if Table.is_full_row(line):
            raise ParseError(
                f"{source}: line {number}: expected the title line before any row, found the row "
                f"{line.strip()!r}: the start of the table is missing or lines are mixed up"
            )


def _read_body(lines: Sequence[str], title_number: int, table: Table) -> dict[str, str]:
    metadata: dict[str, str] = {}
    for number, line in enumerate(lines[title_number:], start=title_number + 1):
        if line.startswith("#"):
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
            f"{source}: expected one line with the number of ranks after the title of "
            f"{benchmark.osu_program}, found {len(found)}: the output is cut or damaged, or those "
            "of several runs were put together"
        )
    fields = found[0].groupdict()
    ranks = fields.pop("ranks")
    return Curve(
        benchmark=benchmark.name,
        program="osu",
        version=version,
        datatype=None,
        metadata={"ranks": ranks},
        points=(
            Point(
                size=None,
                values={(Metric.STARTUP, name): float(value) for name, value in fields.items()},
                iterations=None,
                valid=None,
            ),
        ),
    )
