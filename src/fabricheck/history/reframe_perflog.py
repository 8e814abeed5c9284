"""Perflogs that ReFrame's own handler wrote for other suites, from version 3 on.

The header says how a site wants its lines: it is the site's format with the names of attributes in
place of their values. A line is a case, with five columns for each performance variable, or, where
the format names ``check_perf_var``, one variable. A field may hold several attributes and text
around them, such as ``perf_var=perf_value``, the line of ReFrame 3 and of most sites.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.history.fields import NOTHING, Converted, in_calendar, times, without, wrong
from fabricheck.history.frame import PROVENANCE, READ, empty
from fabricheck.history.lines import DELIMITER
from fabricheck.history.problems import Kind, Problem

_TIMES: Final = ("job_completion_time_unix", "job_completion_time", "asctime")
_TITLES: Final = ("name", "display_name", "info")
_ATTRIBUTES: Final = (
    *(*_TIMES, *_TITLES),
    *("system", "partition", "environ", "jobid", "result", "num_tasks", "job_nodelist"),
    *("perf_var", "perf_value", "perf_unit", "perf_ref", "perf_lower_thres", "perf_upper_thres"),
)
_ATTRIBUTE: Final = re.compile(rf"\b(?:{'|'.join(_ATTRIBUTES)})\b")

_REFERENCE: Final = "ref=perf_ref (l=perf_lower_thres, u=perf_upper_thres)|perf_unit"
# In a header of ReFrame 4.2 only the first character is left of the text between two attributes.
_SHORT_REFERENCE: Final = "perf_ref perf_lower_thres,perf_upper_thres)perf_unit"
_NAMED: Final = re.compile(r"\|(jobid|num_tasks)(?=\|)")
# ReFrame 3 writes no header.
_WITHOUT_HEADER: Final = re.compile(
    r"\d[^|]+\|reframe [^|]+\|[^|]+\|jobid=[^|]*(\|num_tasks=\d+)?\|[^|]+=[^|]+\|ref=[^|]*\|[^|]*"
)

_PLACE: Final = re.compile(r"\s+[@~/]\S*(\s.*)?$|\s+on \S+:\S+ using \S+$")
_ENVIRONMENT: Final = r"(?:@\S+:\S+\+| on \S+:\S+ using )(\S+)$"
_REPETITION: Final = re.compile(r"\s*%\.repeat_no=(\d{1,9})")


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a line: what it is called, and the attributes that it holds."""

    name: str
    pattern: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """How the lines of a file are to be read.

    Attributes:
        fields: names of the fields, in their order.
        delimiter: what separates them.
        headed: whether the first line is a header.
    """

    fields: tuple[str, ...]
    delimiter: str
    headed: bool
    _composed: tuple[_Field, ...]
    _variables: tuple[str, ...]
    _path: Path

    def convert(self, text: pl.DataFrame) -> Converted:
        """From fields of text to the columns of the history, and the lines that are damaged."""
        if not self._variables:
            return empty(), []
        text, bad = _taken_apart(text, self._composed)
        values, more = _values_of(text, self._variables, self._path)
        return values, bad + more


def recognize(first: str, path: Path) -> Lines | None:
    """How a file's lines are to be read, by its first line; nothing if it is none of ReFrame's."""
    header = first
    if _SHORT_REFERENCE in first:
        header = _NAMED.sub(r"|\1=\1", first.replace(_SHORT_REFERENCE, _REFERENCE))
    match = _WITHOUT_HEADER.fullmatch(first)
    if match:
        tasks = "num_tasks=num_tasks|" if match[1] else ""
        header = (
            "job_completion_time|reframe version|info|jobid=jobid|"
            f"{tasks}perf_var=perf_value|{_REFERENCE}"
        )
    delimiter = DELIMITER if DELIMITER in header else ","
    names = header.split(delimiter)
    # A test without variables leaves a field without name, and a format may say a thing twice.
    fields = tuple(
        name if name and name not in names[:place] else f"field {place + 1}"
        for place, name in enumerate(names)
    )
    composed = tuple(_composed(fields))
    known = {*fields, *(name for each in composed for name in each.attributes)}
    if known.isdisjoint(_TIMES):
        return None
    # Of the path only what the columns don't say, so that files of one layout are equal in it.
    name = path.name if known.isdisjoint(_TITLES) else ""
    place = Path(path.parent.parent.name, path.parent.name, name or "any")
    return Lines(fields, delimiter, not match, composed, _variables(fields, known), place)


def _composed(fields: Iterable[str]) -> Iterable[_Field]:
    """The fields that hold more than the value of one attribute."""
    for field in fields:
        found = list(_ATTRIBUTE.finditer(field))
        # In "jobid=jobid" the first is text.
        last = {match[0]: match for match in found}
        parts = [match for match in found if last[match[0]] is match]
        if not parts or field in _ATTRIBUTES:
            continue
        pattern, end = "", 0
        for match in parts:
            text = pl.escape_regex(field[end : match.start()])
            # ReFrame leaves the text before the first attribute of a line out of its header.
            pattern += f"(?:{text}){'' if end else '?'}(?<{match[0]}>.*?)"
            end = match.end()
        pattern = f"^{pattern}{pl.escape_regex(field[end:])}$"
        yield _Field(field, pattern, tuple(match[0] for match in parts))


def _variables(fields: Sequence[str], known: set[str]) -> tuple[str, ...]:
    """Prefixes of the columns that hold performance variables."""
    if {"perf_var", "perf_value"} <= known:
        return ("perf",)
    names = [name.removesuffix("_value") for name in fields if name.endswith("_value")]
    return tuple(name for name in names if name and f"{name}_unit" in fields)


def _taken_apart(text: pl.DataFrame, composed: Sequence[_Field]) -> Converted:
    """The columns of the attributes in place of the fields that hold several."""
    problems: list[Problem] = []
    for field in composed:
        groups = text[field.name].str.extract_groups(field.pattern).struct.unnest()
        bad = groups[field.attributes[0]].is_null()
        found = zip(text["line"].filter(bad), text[field.name].filter(bad), strict=True)
        problems += [
            Problem(Kind.DAMAGED, line, line, f"expected a field {field.name!r}, found {value!r}")
            for line, value in found
        ]
        text = text.drop(field.name).with_columns(groups).filter(~bad)
    return text, problems


def _values_of(text: pl.DataFrame, variables: Sequence[str], path: Path) -> Converted:
    used = {*_ATTRIBUTES, *READ}
    prefixes = tuple(f"{prefix}_" for prefix in variables)
    text = text.select(name for name in text.columns if name in used or name.startswith(prefixes))
    # <prefix>/<system>/<partition>/<check>.log, by default.
    places = {"system": path.parent.parent.name, "partition": path.parent.name}
    text = text.with_columns(
        pl.lit(place).alias(name) for name, place in places.items() if name not in text.columns
    )
    text = text.with_columns(
        pl.when(pl.col(pl.String).is_in(NOTHING))
        .then(pl.lit(""))
        .otherwise(pl.col(pl.String))
        .name.keep()
    )
    field, moments = _completion(text)
    names = _names(text, path)
    known = names.unique()
    titles, repeats = (
        # Of no names at all the result would have no type of its own.
        names.replace_strict(known, [way(name) for name in known], return_dtype=kind).cast(kind)
        for way, kind in ((title, pl.String), (repetition, pl.UInt32))
    )
    cases = text.with_columns(
        moments.dt.truncate("1s").alias("time"),
        titles.str.extract(r"^(\S*)").alias("check"),
        titles.alias("benchmark"),
        repeats.alias("repeat"),
        _nodes(text.columns).alias("num_nodes"),
        _environment(text.columns),
        _column(text.columns, "jobid").alias("job"),
        _column(text.columns, "result"),
        _column(text.columns, "num_tasks").cast(pl.Int32, strict=False).fill_null(0).alias("ranks"),
        _column(text.columns, "job_nodelist").alias("node_list"),
    )
    bad = wrong(cases, field, "time", "a time", may_be_empty=False)
    frames = []
    for prefix in variables:
        frame, more = _values(cases, prefix)
        bad += more
        frames.append(frame.select(READ.keys()))
    return without(pl.concat(frames), bad), bad


def title(name: str) -> str:
    """Name and parameters of a test; the number of its repetition makes it no other test."""
    return _REPETITION.sub("", _PLACE.sub("", name)).strip()


def repetition(name: str) -> int | None:
    """Number of a test's repetition within a session, if ReFrame was asked for some."""
    match = _REPETITION.search(name)
    return int(match[1]) if match else None


def _names(cases: pl.DataFrame, path: Path) -> pl.Series:
    found = next((name for name in _TITLES if name in cases.columns), None)
    if found is None:
        return pl.Series([path.name.partition(".")[0]]).new_from_index(0, cases.height)
    return cases[found]


def _column(columns: Sequence[str], name: str) -> pl.Expr:
    return pl.col(name) if name in columns else pl.lit("").alias(name)


def _environment(columns: Sequence[str]) -> pl.Expr:
    if "environ" in columns or "info" not in columns:
        return _column(columns, "environ")
    return pl.col("info").str.extract(_ENVIRONMENT).fill_null("").alias("environ")


def _nodes(columns: Sequence[str]) -> pl.Expr:
    if "job_nodelist" not in columns:
        return pl.lit(0, pl.Int32)
    listed = pl.col("job_nodelist")
    count = listed.str.count_matches(",", literal=True).cast(pl.Int32) + 1
    return pl.when(listed == "").then(pl.lit(0, pl.Int32)).otherwise(count)


def _completion(text: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """The field that says when the job ended, and what it says."""
    field = text[next(name for name in _TIMES if name in text.columns)]
    if field.name != "job_completion_time_unix":
        return field, times(field)
    microseconds = (field.cast(pl.Float64, strict=False) * 1e6).cast(pl.Int64, strict=False)
    return field, in_calendar(pl.from_epoch(microseconds, "us").dt.replace_time_zone("UTC"))


def _values(cases: pl.DataFrame, prefix: str) -> Converted:
    """The values of a performance variable in every case, and the lines that are damaged."""
    if prefix == "perf":
        # A test without variables has a line all the same.
        cases = cases.filter((pl.col("perf_var") != "") | (pl.col("perf_value") != ""))

    def field(suffix: str) -> pl.Expr:
        return _column(cases.columns, f"{prefix}_{suffix}")

    reference, lower, upper = (
        field(suffix).cast(pl.Float64, strict=False)
        for suffix in ("ref", "lower_thres", "upper_thres")
    )
    # Thresholds are fractions of the reference; where there is none ReFrame writes the reference 0.
    known = pl.when(lower.is_not_null() | upper.is_not_null())
    span = reference.abs()
    absent = [
        name for name in (*PROVENANCE, "finding", "session", "level") if name not in cases.columns
    ]
    frame = cases.with_columns(
        (pl.col("perf_var") if prefix == "perf" else pl.lit(prefix)).alias("metric"),
        field("value").cast(pl.Float64, strict=False).alias("value"),
        field("unit").alias("unit"),
        known.then(reference).alias("reference"),
        known.then(reference + lower * span).alias("lower"),
        known.then(reference + upper * span).alias("upper"),
        pl.lit(None, pl.Float64).alias("warning_lower"),
        pl.lit(None, pl.Float64).alias("warning_upper"),
        pl.lit(None, pl.Int64).alias("size"),
        *(pl.lit("").alias(name) for name in ("placement", "transport", "program", "statistic")),
        *(pl.lit("").alias(name) for name in absent),
    )
    return frame, _impossible(cases, prefix)


def _impossible(cases: pl.DataFrame, prefix: str) -> list[Problem]:
    bad: list[Problem] = []
    for suffix in ("value", "ref", "lower_thres", "upper_thres"):
        name = f"{prefix}_{suffix}"
        if name in cases.columns:
            numbers = cases.select("line", pl.col(name).cast(pl.Float64, strict=False))
            value = suffix == "value"
            expected = "a finite number" if value else "a number"
            bad += wrong(numbers, cases[name], name, expected, finite=value)
    return bad
