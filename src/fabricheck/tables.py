"""Tables of the suite itself: CSV files beside the modules that read them, each with a schema.

A schema names each column and how its cells are read: ``TEXT``, ``one_of`` some words, a
``pattern``; ``many`` of these with blanks between them; ``maybe`` none.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from fabricheck.errors import FabricheckError


class Cell(NamedTuple):
    """How the cells of a column are read.

    Attributes:
        form: what stands in them, in words.
        read: gives the value, or an error for what is none.
    """

    form: str
    read: Callable[[str], Any]


def one_of(known: Iterable[Any]) -> Cell:
    """One of some words, by what each of them stands for if they are a mapping."""
    values = known if isinstance(known, Mapping) else {str(each): each for each in known}
    return Cell(f"one of {', '.join(values)}", values.__getitem__)


def pattern(regex: str, example: str) -> Cell:
    """Text of a form, of which there is an example."""
    none: Mapping[int, str] = {}
    form = re.compile(regex, re.ASCII)
    return Cell(f"text such as {example}", lambda cell: (form.fullmatch(cell) or none)[0])


def many(cell: Cell) -> Cell:
    """A list with blanks between its words."""
    return Cell(cell.form, lambda words: tuple(map(cell.read, dict.fromkeys(words.split()))))


def maybe(cell: Cell, nothing: Any = None) -> Cell:
    """A cell that may be empty, and then stands for nothing."""
    return Cell(f"{cell.form}, or nothing", lambda text: cell.read(text) if text else nothing)


NAME: Final = pattern("[a-z][a-z0-9_]+", "ib_send_bw")
TEXT: Final = pattern(r"\S(.*\S)?", "a title")
YES_NO: Final = one_of({"yes": True, "no": False})
NUMBER: Final = Cell("a whole number", lambda text: int(pattern("[0-9]{1,9}", "16").read(text)))
A_ROW: Final = Cell("the name of a row of this table", str)


def rows(
    path: Path, columns: Mapping[str, Cell], optional: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """The rows of a table, each by the names of its columns; ``name`` tells them apart.

    Args:
        path: the file; its lines that begin with ``#`` say why.
        columns: how the cells of each column are read.
        optional: columns that a table may do without.

    Raises:
        FabricheckError: for the first line that is not as the schema asks.
    """

    def wrong(line: int, message: str) -> FabricheckError:
        return FabricheckError(f"FC0113 {path}: line {line}: {message}")

    text = enumerate(path.read_text("utf-8").splitlines(), start=1)
    lines = [(number, _cells(line)) for number, line in text if line[:1] != "#"]
    first, header = lines.pop(0) if lines else (1, [])
    if len({*header}) < len(header) or not columns.keys() - optional <= {*header} <= columns.keys():
        wanted, found = ", ".join(columns), ", ".join(header)
        raise wrong(first, f"expected the columns {wanted}, each once, found {found}: correct them")
    named: dict[str, int] = {}
    at = header.index("name")
    a_row = maybe(one_of([cell for _, cells in lines for cell in cells[at : at + 1]]), "")
    for line, cells in lines:
        if len(cells) != len(header):
            counts = f"expected {len(header)} cells, found {len(cells)}"
            raise wrong(line, f"{counts}: correct the commas and quotes")
        row = {}
        for column, cell in zip(header, cells, strict=True):
            reader = a_row if columns[column] is A_ROW else columns[column]
            try:
                row[column] = reader.read(cell)
            except (FabricheckError, LookupError, ValueError, re.error) as error:
                asked = f"{column}: expected {reader.form}"
                raise wrong(line, f"{asked}, found {cell!r}: correct it") from error
        if (before := named.setdefault(row["name"], line)) != line:
            twice = f"found {row['name']} again, first at line {before}"
            raise wrong(line, f"expected each name once, {twice}: remove one")
        yield row


def _cells(line: str) -> list[str]:
    """The cells of a line; none where a quote is left open."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        return []


def in_columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell; the last one is not padded."""
    every = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[column]) for row in every) for column in range(len(head) - 1)]
    for row in every:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
