"""Reading the output of benchmark programs: which folder's reader it is for, and what all need."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, Protocol, cast

from fabricheck.errors import ParseError
from fabricheck.inputs import read_file
from fabricheck.measures import program_result
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import point_label
from fabricheck.measures.part import Part
from fabricheck.measures.program_result import ProgramResult
from fabricheck.measures.registry import find, part_of, parts
from fabricheck.measures.unread import name_of


class TextReader(Protocol):
    """What ``read.py`` offers for a program that prints text."""

    def is_output(self, text: str) -> bool:
        """Whether the program printed it."""

    def parse(self, text: str, source: str, name: str) -> Curve:
        """The curve of one run; raises ``ParseError``."""


class TablesReader(Protocol):
    """What ``read.py`` offers beside ``parse`` for a program whose output may have more tables."""

    def curves(self, text: str, source: str, name: str) -> Sequence[Curve]:
        """The curves of all its tables; raises ``ParseError``."""


class ResultReader(Protocol):
    """What ``read.py`` offers for programs of the suite."""

    @property
    def RESULTS(self) -> Mapping[str, Callable[[ProgramResult, str], Curve]]:  # noqa: N802
        """By program, what makes a curve of its results and the name of the benchmark."""


class Confirmer(Protocol):
    """What ``read.py`` may offer for ``fabricheck judge``, where no job proves the case."""

    def confirm_case(self, curve: Curve, placement: str, source: str) -> None:
        """Raise ``FabricheckError`` if a curve is not of its placement and benchmark."""


TEXT = Part("read", TextReader, instead=("RESULTS",))
TABLES = Part("read", TablesReader, instead=("is_output", "RESULTS"))
RESULTS = Part("read", ResultReader, instead=("is_output",))
CONFIRMER = Part("read", Confirmer, instead=("is_output", "RESULTS"))

LACKING = "Missing"
"""Metadata: what an output lacks that has an end mark or a list of its tables."""

_CRASH: Final = re.compile(
    r"^.*(?:[Ss]egmentation fault|Caught signal \d|[Kk]illed by signal|Bus error|exited on signal|"
    r"MPI_A(?:BORT was|bort)|BAD TERMINATION|error while loading shared libraries|"
    r"[Oo]ut of memory|oom[-_]kill|DUE TO TIME LIMIT|Transport retry count exceeded).*$",
    re.MULTILINE,
)
"""A line that says how a program or a job ended, other than well."""

_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def half_digit(word: str) -> float:
    """Half of what the last digit of a number counts: how far rounding may have moved it."""
    _, _, decimals = word.partition(".")
    return float(0.5 * 10 ** -len(decimals))


def parse_file(path: Path, name: str = "") -> Sequence[Curve]:
    """Read the output of a benchmark program from a file, as ``parse_all`` does its text.

    Raises:
        ParseError: if the file cannot be read or ``parse_all`` refuses its text.
    """
    try:
        data = read_file(path)
    except OSError as error:
        raise ParseError(
            f"FC1103 {path}: expected the output of a benchmark, but the file cannot be read "
            f"({error.strerror}): check the path"
        ) from error
    return parse_all(decode(data, str(path)), str(path), name)


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
            f"FC1104 {source}: line {line}: expected UTF-8 text, found the byte "
            f"0x{data[error.start]:02x}: the output is damaged or is no text"
        ) from error
    is_quoted = all(line.startswith(">") for line in text.split("\n") if line)
    return _QUOTE.sub("", text) if is_quoted else text


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve that a program printed, or of several tables the one of a benchmark.

    Raises:
        ParseError: as ``parse_all`` and ``the_one``.
    """
    return the_one(parse_all(text, source, name), source, name)


def the_one(curves: Sequence[Curve], source: str, name: str = "") -> Curve:
    """The curve of a benchmark: of several the first with most ranks, which are in one group.

    Raises:
        ParseError: if there are several benchmarks, and it is not named which.
    """
    found = list(dict.fromkeys(each.benchmark for each in curves))
    chosen = [each for each in curves if len(found) == 1 or each.benchmark == name]
    if not chosen:
        raise ParseError(
            f"FC1123 {source}: expected the benchmark to take (--benchmark) of "
            f"{', '.join(found)}, found {name or 'none'}: name it"
        )
    return max(chosen, key=lambda e: ("Groups" not in e.metadata, int(e.metadata.get("ranks", 0))))


def only(pattern: re.Pattern[str], text: str, source: str, example: str) -> re.Match[str]:
    """The one title of an output.

    Raises:
        ParseError: if there is none, or more than one.
    """
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise ParseError(
            f"FC1124 {source}: expected one title line such as {example!r}, found {len(found)}: "
            "the start is missing, or the outputs of several runs were put together"
        )
    return found[0]


def parse_all(text: str, source: str, name: str = "") -> Sequence[Curve]:
    """The curves of all tables that a program printed.

    Args:
        text: the whole output, with the line end of its last line: a row without one is taken
            as cut.
        source: what to call the text in messages, usually the file's path.
        name: the benchmark that ran, where the output doesn't tell: of several with one title it
            is taken for that of the first in the registry, other tables are refused without it.

    Raises:
        ParseError: if there is no table, more than one of a program that prints one, or one that
            is empty, damaged, cut or marked invalid by the program's own data validation.

    An OSU table has no end mark, so that a cut between two rows cannot be seen here: pass the
    curve to ``check_complete``. Of the suite's own programs the JSON is read, and no table.
    """
    if not text.strip():
        raise ParseError(
            f"FC1105 {source}: expected the output of a benchmark, found nothing: the program did "
            "not start, or its output went elsewhere"
        )
    own = part_of(name, TEXT) if name else None
    readers = sorted(parts(TEXT), key=lambda reader: reader is not own)
    reader = next((each for each in readers if each.is_output(text)), None)
    curves = {name: make for each in parts(RESULTS) for name, make in each.RESULTS.items()}
    if program_result.is_result(text) and not reader:
        result = program_result.read(text, source)
        if result.program not in curves:
            result.refuse(
                f"expected results of one of {', '.join(curves)}, found those of {result.program}"
            )
        return [curves[result.program](result, name)]
    _refuse_tables(text, source, list(curves))
    try:
        if not reader:
            raise untitled(text.split("\n"), source)
        several = TABLES.of(cast("ModuleType", reader))
        found = (
            several.curves(text, source, name) if several else [reader.parse(text, source, name)]
        )
    except ParseError as error:
        if crash := _CRASH.search(text):
            raise _crashed(source, crash[0], f"of what it printed: {error}") from error
        raise
    # Where a program has marked no end, rows may be missing behind the last one.
    if (crash := _CRASH.search(text)) and not all(curve.is_whole for curve in found):
        raise _crashed(source, crash[0], "rows may be missing")
    return found


def _crashed(source: str, line: str, rest: str) -> ParseError:
    return ParseError(
        f"FC3605 {source}: expected the table of a benchmark, found that the program ended with "
        f"{line.strip()[:120]!r}: see why it did; {rest}"
    )


def _refuse_tables(text: str, source: str, programs: Sequence[str]) -> None:
    """Refuse what our own programs print for people."""
    title = re.compile(
        rf"^(?:# (?P<program>{'|'.join(programs)}) |(?P<other>{'|'.join(programs)}) \S+ Benchmark )"
    )
    for number, line in enumerate(text.split("\n"), start=1):
        if match := title.match(line):
            program = match["program"] or match["other"]
            raise ParseError(
                f"FC1106 {source}: line {number}: expected the JSON of {program}, found its table "
                "for people: run it with --json FILE and give that file"
            )


def untitled(lines: Sequence[str], source: str) -> ParseError:
    """The error of an output, of lines not all empty, that no program's title is in."""
    last = next(line.strip() for line in reversed(lines) if line.strip())
    if name := name_of(lines):
        return ParseError(
            f"FC3606 {source}: expected the table of a benchmark, found what looks like the "
            f"output of {name}, which is not read"
        )
    return ParseError(
        f"FC1107 {source}: expected the table of a benchmark, found no title line such as '# OSU "
        f"MPI Latency Test v7.4'; the output ends with {last[:120]!r}"
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
            f"FC1108 {prefix}expected {len(expected_sizes)} message sizes, but "
            f"{_labels(curve, missing)} {'is' if len(missing) == 1 else 'are'} missing: the "
            "benchmark was cut short or ran with other sizes"
        )
    if extra := [size for size in found if size is not None and size not in expected_sizes]:
        raise ParseError(
            f"FC1109 {prefix}expected {len(expected_sizes)} message sizes, but found "
            f"{_labels(curve, extra)} as well: the benchmark ran with other sizes"
        )


def _labels(curve: Curve, sizes: Sequence[int]) -> str:
    metric = find(curve.benchmark).metrics[0]
    return ", ".join(point_label(metric, size) for size in sorted(sizes))


_WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


class Rows:
    """The lines of a table.

    Args:
        source: what to call it in messages.
    """

    NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?", re.ASCII)

    def __init__(self, source: str) -> None:
        self._source = source

    def _value(self, number: int, title: str, word: str) -> float:
        """The number in a cell of a line."""
        value = float(word) if self.NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise self._error(
                number, f"expected a finite number, not negative, as {title}, found {word!r}"
            )
        return value

    def _whole(self, number: int, title: str, word: str, least: int = 0) -> int:
        """The whole number in a cell of a line."""
        if not _WHOLE_NUMBER.fullmatch(word) or int(word) < least:
            wanted = "whole number above zero" if least else "whole number, not negative,"
            raise self._error(number, f"expected a {wanted} as {title}, found {word!r}")
        return int(word)

    def _error(self, number: int, message: str) -> ParseError:
        return ParseError(f"FC1110 {self._source}: line {number}: {message}")
