"""From bytes to columns of text: fast where a block of lines is sound, line by line where not."""

import csv
import os
import zlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl

from fabricheck.history.problems import Kind, Problem

DELIMITER = "|"
BLOCK = 8 << 20
_CHUNK = 1 << 20
_GZIP = 31
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file.

    Attributes:
        data: the lines, each with its newline.
        first_line: number of the first of them, from 1.
        lines: how many they are.
    """

    data: bytes
    first_line: int
    lines: int

    def behead(self) -> tuple[bytes, "Block"]:
        """The first line, and the block without it."""
        header, _, data = self.data.partition(b"\n")
        return header, Block(data, self.first_line + 1, self.lines - 1)


def first_line(path: Path) -> bytes:
    """The first line of a file."""
    if path.suffix != ".gz":
        with path.open("rb") as file:
            return file.readline().removesuffix(b"\n")
    held = b""
    for data in chunks(path):
        held += data
        if b"\n" in data:
            break
    return held.partition(b"\n")[0]


class CutStreamError(Exception):
    """Compressed data that ends early or is damaged; what came before it was given."""


def chunks(path: Path, offset: int = 0) -> Iterator[bytes]:
    """The bytes of a file from an offset on, unpacked if the file is compressed.

    Raises:
        CutStreamError: after the last sound byte of compressed data that is damaged.
    """
    with path.open("rb") as file:
        if path.suffix == ".gz":
            yield from _skipping(_unpacked(file), offset)
        else:
            file.seek(offset)
            while data := file.read(_CHUNK):
                yield data


def _unpacked(file: IO[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(wbits=_GZIP)
    whole = True
    while data := file.read(_PIECE):
        # Archives are filled up with zeros where a medium wants whole blocks.
        while data := data.lstrip(b"\0") if whole else data:
            before = unpack.copy()
            try:
                yield unpack.decompress(data)
            except zlib.error as error:
                sound = yield from _until_damage(before, data)
                raise _lost(file, len(data) - sound, f"damage ({error})") from error
            whole, data = unpack.eof, unpack.unused_data
            if whole:
                unpack = zlib.decompressobj(wbits=_GZIP)
    if not whole:
        raise _lost(file, 0, "its end")


def _until_damage(unpack: "zlib._Decompress", data: bytes) -> Generator[bytes, None, int]:
    for place in range(len(data)):
        try:
            yield unpack.decompress(data[place : place + 1])
        except zlib.error:
            return place
    return len(data)


def _lost(file: IO[bytes], left: int, found: str) -> CutStreamError:
    """What to say where compressed data goes no further, ``left`` bytes before the place read."""
    size, place = os.fstat(file.fileno()).st_size, file.tell() - left
    return CutStreamError(
        f"expected compressed data to go on, found {found} at byte {place} of {size}: what stands "
        "before was read, what stood after is lost, and nobody knows how many lines that is; put a "
        "sound copy in its place"
    )


def _skipping(stream: Iterator[bytes], offset: int) -> Iterator[bytes]:
    for data in stream:
        if offset < len(data):
            yield data[offset:]
        offset = max(0, offset - len(data))


def blocks(stream: Iterator[bytes], first_line: int, size: int = BLOCK) -> Iterator[Block]:
    """The whole lines of a stream; bytes after the last newline are left for later.

    Raises:
        CutStreamError: after the last block, where the stream raises it.
    """
    parts: list[bytes] = []
    held = 0
    cut = None
    while True:
        try:
            data = next(stream, b"")
        except CutStreamError as error:
            data, cut = b"", error
        parts.append(data)
        held += len(data)
        if data and held < size:
            continue
        if end := data.rfind(b"\n") + 1:
            whole = b"".join([*parts[:-1], memoryview(data)[:end]])
            parts = [data[end:]]
        else:
            whole, newline, rest = b"".join(parts).rpartition(b"\n")
            whole += newline
            parts = [rest]
        held = len(parts[0])
        if whole:
            block = Block(whole, first_line, whole.count(b"\n"))
            yield block
            first_line += block.lines
        if not data:
            break
    if cut:
        raise cut


def split(
    block: Block, columns: Sequence[str], delimiter: str = DELIMITER, *, quoted: bool
) -> tuple[pl.DataFrame, list[Problem]]:
    """The fields of the lines as text, with a column ``line``, and the damaged lines.

    Args:
        block: the lines.
        columns: names of the fields.
        delimiter: what separates them.
        quoted: whether fields are quoted as in CSV.
    """
    frame = _split_sound(block, columns, delimiter, quoted=quoted)
    if frame is not None:
        return frame, []
    return _split_each(block, columns, delimiter, quoted=quoted)


def _split_sound(
    block: Block, columns: Sequence[str], delimiter: str, *, quoted: bool
) -> pl.DataFrame | None:
    """All lines at once, or nothing if a single one may be damaged.

    Polars fills lines that are too short and refuses those that are too long; where it refuses
    none, the number of delimiters says whether one was too short.
    """
    delimiters = block.data.count(delimiter.encode())
    if delimiters != block.lines * (len(columns) - 1) or (quoted and b'"' in block.data):
        return None
    try:
        frame = pl.read_csv(
            block.data,
            has_header=False,
            separator=delimiter,
            quote_char=None,
            schema=dict.fromkeys(columns, pl.String),
            empty_string_is_null=False,
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != block.lines:
        return None
    numbers = pl.int_range(
        block.first_line, block.first_line + block.lines, dtype=pl.UInt32, eager=True
    )
    return frame.with_columns(numbers.alias("line"))


def _split_each(
    block: Block, columns: Sequence[str], delimiter: str, *, quoted: bool
) -> tuple[pl.DataFrame, list[Problem]]:
    rows: list[tuple[str | int, ...]] = []
    problems = []
    for number, line in enumerate(block.data.split(b"\n")[:-1], start=block.first_line):
        try:
            values = _fields(line.decode(), delimiter, quoted=quoted)
        except (UnicodeDecodeError, csv.Error) as error:
            problems.append(Problem(Kind.DAMAGED, number, number, f"expected text, found {error}"))
            continue
        if len(values) != len(columns):
            detail = (
                f"expected {len(columns)} fields separated by '{delimiter}', found {len(values)}"
            )
            problems.append(Problem(Kind.DAMAGED, number, number, detail))
            continue
        rows.append((*values, number))
    schema = {**dict.fromkeys(columns, pl.String), "line": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row"), problems


def _fields(line: str, delimiter: str, *, quoted: bool) -> list[str]:
    if not (quoted and '"' in line):
        return line.split(delimiter) if line else []
    return next(csv.reader([line], delimiter=delimiter, strict=True), [])
