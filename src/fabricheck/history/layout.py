"""The layouts of perflogs: this suite's of any version, and ReFrame's own of other suites.

A header says which columns a file has. Ours is read by the names of its columns, so that files of
older versions, set aside as ``.h<N>``, stay readable. In ReFrame's layout a line is a case, with
five columns for each performance variable, or, with ``perflog_multiline`` and a format that names
``check_perf_var``, one variable.
"""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history.frame import PROVENANCE, READ
from fabricheck.history.lines import DELIMITER, Block, split
from fabricheck.history.problems import Kind, Problem

_NUMBERS: Final = ("reference", "lower", "upper", "warning_lower", "warning_upper")
_REQUIRED: Final = frozenset(
    (
        *("time", "system", "partition", "environment", "check", "benchmark", "transport"),
        *("nodes", "metric", "statistic", "size", "value", "unit"),
    )
)
_NOTHING: Final = ("null", "None", "")
_PLACE: Final = re.compile(r"\s+[@~/]\S*(\s.*)?$")
_REPETITION: Final = re.compile(r"\s*%\.repeat_no=\d+")

Converted = tuple[pl.DataFrame, list[Problem]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file are to be read.

    Attributes:
        columns: names of the fields, in their order.
        quoted: whether fields are quoted as in CSV.
        convert: from fields of text to the columns of the history, and the lines that are damaged.
    """

    columns: tuple[str, ...]
    quoted: bool
    convert: Callable[[pl.DataFrame], Converted]

    def read(self, block: Block) -> Converted:
        """The values of a block of lines, and the lines that are damaged."""
        text, damaged = split(block, self.columns, quoted=self.quoted)
        values, wrong = self.convert(text)
        return values, damaged + wrong


def recognize(header: bytes, path: Path) -> Layout:
    """The layout that a file's first line announces.

    Args:
        header: the first line.
        path: the file; ReFrame's default layout leaves to it what the columns don't say.

    Raises:
        FabricheckError: if it is none of the known.
    """
    text = header.decode(errors="replace").rstrip("\r\n")
    columns = tuple(next(csv.reader([text], delimiter=DELIMITER), []))
    names = set(columns)
    if len(names) == len(columns):
        if names >= _REQUIRED:
            return Layout(columns, True, _from_ours)  # noqa: FBT003
        variables = _variables(columns)
        if variables and names & {"job_completion_time", "job_completion_time_unix"}:
            return Layout(columns, False, lambda text: _from_reframe(text, variables, path))  # noqa: FBT003
    found = text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004
    raise FabricheckError(
        f"{path}, line 1: expected the header of a perflog, of fabricheck (docs/perflog.md) or "
        f"ReFrame's default, found {found!r}: move the file away, or skip it with --skip"
    )


def _from_ours(text: pl.DataFrame) -> Converted:
    absent = {*READ, "job_id"} - {*text.columns, "environ", "num_nodes", "job", "placement"}
    text = text.with_columns(pl.lit("").alias(name) for name in absent)
    frame = text.with_columns(
        _times(text["time"]),
        pl.col("nodes").cast(pl.Int32, strict=False).alias("num_nodes"),
        pl.col("size").cast(pl.Int64, strict=False),
        pl.col("value", *_NUMBERS).cast(pl.Float64, strict=False),
        pl.col("environment").alias("environ"),
        pl.col("job_id").alias("job"),
        _placement(pl.col("transport"), pl.col("nodes")),
    )
    wrong = _wrong(frame, text, "time", "a time as in RFC 3339", may_be_empty=False)
    wrong += _wrong(frame, text, "value", "a finite number")
    wrong += _wrong(frame, text, "size", "a whole number of bytes")
    wrong += _wrong(frame, text, "nodes", "a whole number", column="num_nodes")
    return _without(frame.select(READ.keys()), wrong), wrong


def _placement(transport: pl.Expr, nodes: pl.Expr) -> pl.Expr:
    named = pl.concat_str(transport, pl.lit("-"), nodes, pl.lit("n"))
    return pl.when(transport == "").then(pl.lit("")).otherwise(named).alias("placement")


def _wrong(
    frame: pl.DataFrame,
    text: pl.DataFrame,
    field: str,
    expected: str,
    *,
    column: str | None = None,
    may_be_empty: bool = True,
) -> list[Problem]:
    """The lines where a field could not be read."""
    read = frame[column or field]
    bad = read.is_null() | (read.is_infinite() | read.is_nan() if read.dtype.is_float() else False)
    if may_be_empty and bad.any():
        bad &= ~text[field].is_in(_NOTHING)
    if not bad.any():
        return []
    found = text.filter(bad).select("line", field).iter_rows()
    return [
        Problem(Kind.DAMAGED, line, line, f"expected {expected} as {field}, found {value!r}")
        for line, value in found
    ]


def _without(frame: pl.DataFrame, problems: Sequence[Problem]) -> pl.DataFrame:
    if not problems:
        return frame
    return frame.filter(~pl.col("line").is_in([problem.first for problem in problems]))


def _times(text: pl.Series) -> pl.Series:
    """Points of time; one without zone is this machine's, as ReFrame writes it by default."""
    times = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%z", time_unit="us", strict=False)
    others = text.filter(times.is_null()).unique()
    if others.is_empty():
        return times
    found = pl.Series([_moment(value) for value in others], dtype=times.dtype)
    return times.fill_null(text.replace_strict(others, found, default=None))


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class _Variable:
    """The columns that hold a performance variable; an empty ``name`` is itself in a column."""

    name: str
    prefix: str


def _variables(columns: Sequence[str]) -> list[_Variable]:
    if {"perf_var", "perf_value"} <= set(columns):
        return [_Variable("", "perf")]
    names = [name.removesuffix("_value") for name in columns if name.endswith("_value")]
    return [_Variable(name, name) for name in names if f"{name}_unit" in columns]


def _from_reframe(text: pl.DataFrame, variables: Sequence[_Variable], path: Path) -> Converted:
    # <prefix>/<system>/<partition>/<check>.log, by default.
    places = {"system": path.parent.parent.name, "partition": path.parent.name}
    text = text.with_columns(
        pl.lit(place).alias(name) for name, place in places.items() if name not in text.columns
    )
    text = text.with_columns(
        pl.when(pl.col(pl.String).is_in(_NOTHING))
        .then(pl.lit(""))
        .otherwise(pl.col(pl.String))
        .name.keep()
    )
    titles = _titles(text, path)
    cases = text.with_columns(
        _completion(text).dt.truncate("1s").alias("time"),
        titles.str.extract(r"^(\S*)").alias("check"),
        titles.alias("benchmark"),
        _nodes(text.columns).alias("num_nodes"),
        _column(text.columns, "environ"),
        _column(text.columns, "jobid").alias("job"),
        _column(text.columns, "result"),
        _column(text.columns, "num_tasks").alias("ranks"),
        _column(text.columns, "job_nodelist").alias("node_list"),
    )
    values = [_values(cases, variable) for variable in variables]
    wrong = _wrong(
        cases, cases.with_columns(time_text=pl.lit("")), "time", "a time", may_be_empty=False
    )
    for frame, variable in zip(values, variables, strict=True):
        field = f"{variable.prefix}_value"
        wrong += _wrong(frame, text, field, "a finite number", column="value")
    frame = pl.concat(frame.select(READ.keys()) for frame in values)
    return _without(frame, wrong), wrong


def title(name: str) -> str:
    """Name and parameters of a test; the number of its repetition makes it no other test."""
    return _REPETITION.sub("", _PLACE.sub("", name)).strip()


def _titles(cases: pl.DataFrame, path: Path) -> pl.Series:
    found = next((name for name in ("name", "display_name", "info") if name in cases.columns), None)
    if found is None:
        stem = pl.Series([path.name.partition(".")[0]])
        return stem.new_from_index(0, cases.height)
    names = cases[found].unique()
    return cases[found].replace_strict(
        names, [title(name) for name in names], return_dtype=pl.String
    )


def _column(columns: Sequence[str], name: str) -> pl.Expr:
    return pl.col(name) if name in columns else pl.lit("").alias(name)


def _nodes(columns: Sequence[str]) -> pl.Expr:
    if "job_nodelist" not in columns:
        return pl.lit(0, pl.Int32)
    listed = pl.col("job_nodelist")
    count = listed.str.count_matches(",", literal=True).cast(pl.Int32) + 1
    return pl.when(listed == "").then(pl.lit(0, pl.Int32)).otherwise(count)


def _completion(text: pl.DataFrame) -> pl.Series:
    if "job_completion_time_unix" in text.columns:
        seconds = text["job_completion_time_unix"].cast(pl.Float64, strict=False)
        return pl.from_epoch((seconds * 1e6).cast(pl.Int64), "us").dt.replace_time_zone("UTC")
    return _times(text["job_completion_time"])


def _values(cases: pl.DataFrame, variable: _Variable) -> pl.DataFrame:
    def field(suffix: str) -> pl.Expr:
        return _column(cases.columns, f"{variable.prefix}_{suffix}")

    reference, lower, upper = (
        field(suffix).cast(pl.Float64, strict=False)
        for suffix in ("ref", "lower_thres", "upper_thres")
    )
    # Thresholds are fractions of the reference; where there is none ReFrame writes the reference 0.
    known = pl.when((reference != 0) & (lower.is_not_null() | upper.is_not_null()))
    span = reference.abs()
    empty = [
        name for name in (*PROVENANCE, "finding", "session", "level") if name not in cases.columns
    ]
    return cases.with_columns(
        (pl.col("perf_var") if not variable.name else pl.lit(variable.name)).alias("metric"),
        field("value").cast(pl.Float64, strict=False).alias("value"),
        field("unit").alias("unit"),
        known.then(reference).alias("reference"),
        known.then(reference + lower * span).alias("lower"),
        known.then(reference + upper * span).alias("upper"),
        pl.lit(None, pl.Float64).alias("warning_lower"),
        pl.lit(None, pl.Float64).alias("warning_upper"),
        pl.lit(None, pl.Int64).alias("size"),
        *(pl.lit("").alias(name) for name in ("placement", "transport", "statistic", *empty)),
    )
