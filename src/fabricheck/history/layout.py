"""The layouts of perflogs: this suite's of any version, and ReFrame's own of other suites.

A header says which columns a file has. Ours is read by the names of its columns, so that files of
older versions, set aside as ``.h<N>``, stay readable. ReFrame's own are in
``fabricheck.history.reframe_perflog``.
"""

import csv
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.history import reframe_perflog
from fabricheck.history.fields import Converted, times, without, wrong
from fabricheck.history.frame import READ, empty
from fabricheck.history.lines import DELIMITER, Block, split
from fabricheck.history.problems import Kind, Problem

_BOUNDS: Final = ("reference", "lower", "upper", "warning_lower", "warning_upper")
_REQUIRED: Final = frozenset(
    (
        *("time", "system", "partition", "environment", "check", "benchmark", "transport"),
        *("nodes", "metric", "statistic", "size", "value", "unit"),
    )
)
_MADE: Final = ("environ", "num_nodes", "job", "placement", "repeat")
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file are to be read.

    Attributes:
        columns: names of the fields, in their order.
        quoted: whether fields are quoted as in CSV.
        convert: from fields of text to the columns of the history, and the lines that are damaged.
        delimiter: what separates fields.
        headed: whether the first line is a header.
        kin: files with an equal one can be read together.
    """

    kin: Hashable
    columns: tuple[str, ...]
    quoted: bool
    convert: Callable[[pl.DataFrame], Converted]
    delimiter: str = DELIMITER
    headed: bool = True

    def read(self, block: Block) -> Converted:
        """The values of a block of lines, and the lines that are damaged."""
        text, damaged = split(block, self.columns, self.delimiter, quoted=self.quoted)
        values, wrong = self.convert(text)
        return values, damaged + wrong


@dataclass(frozen=True, slots=True)
class NoLayout:
    """Of a file that is no perflog: none of its lines is read.

    Attributes:
        found: its first line.
    """

    found: str
    headed: bool = False

    @property
    def kin(self) -> Hashable:
        """Files with an equal one can be read together."""
        return self.found

    @property
    def fault(self) -> str:
        """What is wrong with the file, in words."""
        return (
            "expected the header of a perflog, of fabricheck (docs/perflog.md) or ReFrame's, in "
            f"line 1, found {self.found!r}: move the file away, or skip it with --skip"
        )

    def read(self, block: Block) -> Converted:
        """All lines of the block, as damaged ones."""
        last = block.first_line + block.lines - 1
        return empty(), [Problem(Kind.DAMAGED, block.first_line, last, self.fault)]


def recognize(first: bytes, path: Path) -> Layout | NoLayout:
    """The layout that a file's first line announces.

    Args:
        first: the first line.
        path: the file; ReFrame's layouts leave to it what the columns don't say.
    """
    text = first.decode(errors="replace").rstrip("\r\n")
    columns = _columns(text)
    if len(set(columns)) == len(columns) and set(columns) >= _REQUIRED:
        return Layout(columns, columns, True, _from_ours)  # noqa: FBT003
    found = reframe_perflog.recognize(text, path)
    if found:
        return Layout(found, found.fields, False, found.convert, found.delimiter, found.headed)  # noqa: FBT003
    return NoLayout(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


def _columns(text: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader([text], delimiter=DELIMITER), []))
    except csv.Error:
        return ()


def _from_ours(text: pl.DataFrame) -> Converted:
    absent = {*READ, "job_id"} - {
        *text.columns,
        "environ",
        "num_nodes",
        "job",
        "placement",
        "repeat",
    }
    text = text.with_columns(pl.lit("").alias(name) for name in absent)
    frame = text.with_columns(
        times(text["time"]),
        pl.col("nodes").cast(pl.Int32, strict=False).alias("num_nodes"),
        pl.col("size").cast(pl.Int64, strict=False),
        pl.col("value", *_BOUNDS).cast(pl.Float64, strict=False),
        pl.col("environment").alias("environ"),
        pl.col("job_id").alias("job"),
        pl.lit(None, pl.UInt32).alias("repeat"),
        pl.col("ranks").cast(pl.Int32, strict=False),
        _placement(text.columns),
    )
    bad = wrong(frame, text["time"], "time", "a time as in RFC 3339", may_be_empty=False)
    # Whatever the suite measures is a time, a rate or a share.
    bad += wrong(frame, text["value"], "value", "a finite number from 0 on", least=0)
    bad += wrong(frame, text["size"], "size", "a whole number of bytes", least=0)
    bad += wrong(frame, text["nodes"], "num_nodes", "a whole number", least=0)
    bad += wrong(frame, text["ranks"], "ranks", "a whole number", least=0)
    frame = frame.with_columns(pl.col("ranks").fill_null(0))
    for name in _BOUNDS:
        bad += wrong(frame, text[name], name, "a number", finite=False)
    return without(frame.select(READ.keys()), bad), bad


def _placement(columns: Sequence[str]) -> pl.Expr:
    """As it stands; lines of before it was recorded have transport and nodes alone."""
    derived = pl.concat_str("transport", pl.lit("-"), "nodes", pl.lit("n"))
    derived = pl.when(pl.col("transport") != "").then(derived).otherwise(pl.lit(""))
    if "placement" not in columns:
        return derived.alias("placement")
    stated = pl.col("placement")
    return pl.when(stated != "").then(stated).otherwise(derived).alias("placement")
