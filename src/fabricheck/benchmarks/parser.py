"""Parser of what ``mpi_probe`` and the OSU Micro-Benchmarks (5.9 to 7.x) print.

What perftest and ``ucx_perftest`` print is known by their titles, and left to their own parsers.

It is strict: lines of other programs (UCX logs, srun) are skipped only where they cannot be a
row, and a table that is cut, mixed up or repeated is an error, never a shorter curve.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from fabricheck.benchmarks import (
    matmul_table,
    osu_startup,
    perftest,
    rdma_batch,
    rdma_stream,
    ucx_perftest,
)
from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.labels import point_label
from fabricheck.benchmarks.model import MpiBenchmark
from fabricheck.benchmarks.osu import MPI_BENCHMARKS
from fabricheck.benchmarks.registry import find
from fabricheck.benchmarks.table import ParseError, Table
from fabricheck.inputs import read_bounded

__all__ = ["ParseError", "check_complete", "decode", "parse", "parse_file"]

_TITLE = re.compile(
    r"^#\s+(?P<program>OSU|mpi_probe)\s+(?P<printed>MPI.*?)\s+v(?P<version>\d[\w.+-]*)$"
)
_TITLE_START = re.compile(r"^#\s+(?:OSU|mpi_probe)\b")
_END_MARK = re.compile(r"^# Complete: (?P<count>\d+) sizes?$", re.ASCII)
_METADATA = re.compile(r"^#\s*(?P<key>[A-Za-z][\w /-]*?):\s+(?P<value>.+)$")
_BRACKETED_METADATA = re.compile(r"\[ (?P<key>[^\]:]+): (?P<value>[^\]]+) \]")
_VALIDATION_ERROR = "DATA VALIDATION ERROR"
_SHOWN_TITLES = 5
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def parse_file(path: Path, name: str = "") -> Curve:
    """Read the output of a benchmark program from a file, as ``parse`` does its text.

    Raises:
        ParseError: if the file cannot be read or ``parse`` refuses its text.
    """
    try:
        with path.open("rb") as file:
            data = read_bounded(file)
    except OSError as error:
        raise ParseError(
            f"{path}: expected the output of a benchmark, but the file cannot be read "
            f"({error.strerror}): check the path"
        ) from error
    return parse(decode(data, str(path)), str(path), name)


def decode(data: bytes, source: str) -> str:
    """Text of a program's output, with the line ends and blanks that programs print.

    A terminal ends lines with CR LF; a web page has blanks that don't break, and a reply quotes.

    Raises:
        ParseError: if it is not UTF-8 text.
    """
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\xa0", " ")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ParseError(
            f"{source}: line {line}: expected UTF-8 text, found the byte "
            f"0x{data[error.start]:02x}: the output is damaged or is no text"
        ) from error
    is_quoted = all(line.startswith(">") for line in text.split("\n") if line)
    return _QUOTE.sub("", text) if is_quoted else text


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve that a program printed.

    Args:
        text: the whole output, with the line end of its last line: a row without one is taken
            as cut.
        source: what to call the text in messages, usually the file's path.
        name: the benchmark that ran, where the output doesn't tell: of several with one title it
            is taken for that of the first in the registry, other tables are refused without it.

    Raises:
        ParseError: if there is no table, more than one, or one that is empty, damaged, cut or
            marked invalid by the program's own data validation.

    An OSU table has no end mark, so that a cut between two rows cannot be seen here: pass the
    curve to ``check_complete``. A table of ``mpi_probe`` must end with its end mark.
    """
    if not text.strip():
        raise ParseError(
            f"{source}: expected the output of a benchmark, found nothing: the program did not "
            "start, or its output went elsewhere"
        )
    for reader in (ucx_perftest, matmul_table):
        if reader.is_output(text):
            curve: Curve = reader.parse(text, source)
            return curve
    for named in (rdma_batch, rdma_stream):
        if named.is_output(text):
            found: Curve = named.parse(text, source, name)
            return found
    if perftest.is_output(text):
        return perftest.parse(perftest.split_runs(text), source)
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
        return osu_startup.parse(text, source, benchmark, title["version"])
    _refuse_validation_error(lines, source)
    _refuse_rows_before(lines[: title_number - 1], source)

    table = Table(source, benchmark)
    metadata, end_marks = _read_body(lines, title_number, table)
    table.finish(cut=not text.endswith("\n") and table.last_row == len(lines))
    is_mpi_probe = title["program"] == "mpi_probe"
    if is_mpi_probe:
        _require_end_mark(end_marks, table, source)
    datatype = metadata.pop("Datatype", None)
    return Curve(
        benchmark=benchmark.name,
        program="mpi_probe" if is_mpi_probe else "osu",
        version=title["version"],
        datatype=datatype.rstrip(".") if datatype else None,
        metadata=MappingProxyType(metadata),
        points=tuple(table.points),
        is_whole=is_mpi_probe,
    )


def check_complete(curve: Curve, expected_sizes: Sequence[int], source: str = "") -> None:
    """Make sure that a curve has exactly the sizes that were asked for.

    Args:
        curve: what was parsed.
        expected_sizes: sizes in bytes, as ``registry.sweep`` gives them; ignored for a
            benchmark without payload, whose only row the parser has required.
        source: what to call the curve in messages.

    Raises:
        ParseError: naming the sizes that are missing or that nobody asked for.
    """
    if find(curve.benchmark).min_size is None:
        return
    found = {point.size for point in curve.points}
    prefix = f"{source}: " if source else ""
    if missing := [size for size in expected_sizes if size not in found]:
        raise ParseError(
            f"{prefix}expected {len(expected_sizes)} message sizes, but {_labels(curve, missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing: the benchmark was cut short or "
            "ran with other sizes"
        )
    if extra := [size for size in found if size is not None and size not in expected_sizes]:
        raise ParseError(
            f"{prefix}expected {len(expected_sizes)} message sizes, but found "
            f"{_labels(curve, extra)} as well: the benchmark ran with other sizes"
        )


def _labels(curve: Curve, sizes: Sequence[int]) -> str:
    metric = find(curve.benchmark).metrics[0]
    return ", ".join(point_label(metric, size) for size in sorted(sizes))


def _find_title(lines: Sequence[str], source: str) -> int:
    numbers = [n for n, line in enumerate(lines, start=1) if _TITLE_START.match(line)]
    if len(numbers) == 1:
        return numbers[0]
    if not numbers:
        last = next(line.strip() for line in reversed(lines) if line.strip())
        raise ParseError(
            f"{source}: expected the table of an MPI benchmark, found no title line such as "
            f"'# OSU MPI Latency Test v7.4'; the output ends with {last[:120]!r}"
        )
    shown = ", ".join(map(str, numbers[:_SHOWN_TITLES]))
    more = ", ..." if len(numbers) > _SHOWN_TITLES else ""
    raise ParseError(
        f"{source}: expected one table, found {len(numbers)} (titles at lines {shown}{more}): "
        f"either the job ran as {len(numbers)} separate programs because the launcher's PMI does "
        "not fit this MPI, or the outputs of several runs were put together"
    )


def _find_benchmark(printed: str, name: str, place: str) -> MpiBenchmark:
    found = {each.name: each for each in MPI_BENCHMARKS.values() if each.printed == printed}
    if not found:
        raise ParseError(
            f"{place}: unknown benchmark {printed!r}: fabricheck reads the tables of "
            f"{', '.join(MPI_BENCHMARKS)}"
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


def _read_body(
    lines: Sequence[str], title_number: int, table: Table
) -> tuple[dict[str, str], list[tuple[int, int]]]:
    metadata: dict[str, str] = {}
    end_marks: list[tuple[int, int]] = []
    for number, line in enumerate(lines[title_number:], start=title_number + 1):
        if end_mark := _END_MARK.match(line):
            end_marks.append((number, int(end_mark["count"][:9])))
        elif line.startswith("#"):
            if not table.read_comment(number, line) and not table.columns:
                metadata.update(_read_metadata(line))
        elif not end_marks or Table.is_full_row(line):
            table.read_line(number, line)
    return metadata, end_marks


def _read_metadata(line: str) -> dict[str, str]:
    if match := _METADATA.match(line):
        return {match["key"]: match["value"].strip()}
    return {match["key"]: match["value"] for match in _BRACKETED_METADATA.finditer(line)}


def _require_end_mark(end_marks: Sequence[tuple[int, int]], table: Table, source: str) -> None:
    rows = len(table.points)
    if not end_marks:
        raise ParseError(
            f"{source}: expected the line '# Complete: N sizes' at the end, found none after "
            f"{rows} rows: the table is cut, the job was ended or still runs"
        )
    number, count = end_marks[0]
    if len(end_marks) > 1 or count != rows or number < table.last_row:
        raise ParseError(
            f"{source}: line {number}: the end mark says that {count} sizes were measured, found "
            f"{rows} rows and {len(end_marks)} end marks: rows are missing or mixed up"
        )
