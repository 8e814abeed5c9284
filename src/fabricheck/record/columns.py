"""The lines of a record file in columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import polars as pl

from fabricheck.record.entries import CaseEntry
from fabricheck.record.read import Problem, ProblemKind, decoded, whole_lines

_BLOCK: Final = 2000
"""Lines that are decoded at once: their objects take ten times the memory of their columns."""
_FUTURE: Final = timedelta(hours=1)
_JUMP: Final = timedelta(days=1)
_TEXTS: Final = (
    *("session", "system", "partition", "environ", "check", "benchmark", "transport", "layout"),
    *(
        "port",
        "binding",
        "program",
        "options",
        "result",
        "level",
        "gave",
        "job",
        "mpi",
        "mpi_version",
    ),
    *("ucx_version", "program_version", "commit", "reference_kind"),
)
_COUNTS: Final = ("num_nodes", "ranks", "ranks_per_node")
_SAMPLE: Final = {
    **dict.fromkeys(("metric", "statistic", "unit", "level", "result"), pl.String()),
    "size": pl.Int64(),
    **dict.fromkeys(
        ("value", "reference", "lower", "upper", "warning_lower", "warning_upper"), pl.Float64()
    ),
}
_PLAIN: Final = ("time", *_TEXTS, *_COUNTS, "repeat")
_OTHERS: Final = {"time": pl.String(), "line": pl.Binary()}
_TIME: Final = pl.Datetime("us", "UTC")
EMPTY: Final = {
    "cases": pl.DataFrame(
        schema={
            "case": pl.UInt64(),
            "line": pl.UInt32(),
            "time": _TIME,
            **dict.fromkeys(_TEXTS, pl.String()),
            **dict.fromkeys(_COUNTS, pl.Int32()),
            "repeat": pl.UInt32(),
            "node_list": pl.String(),
            "finding": pl.String(),
        }
    ),
    "samples": pl.DataFrame(schema={"case": pl.UInt64(), **_SAMPLE}),
    "others": pl.DataFrame(schema={**_OTHERS, "time": _TIME}),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """What a record file holds.

    Attributes:
        lines: how many lines it has.
        rows: the frames, by the names of ``EMPTY``.
        problems: what is wrong with its lines.
    """

    lines: int
    rows: Mapping[str, pl.DataFrame]
    problems: Sequence[Problem]


def read_columns(path: Path, data: bytes, number: int, now: datetime) -> Columns:
    """The columns of a record file.

    Args:
        path: the file, named in problems.
        data: what it holds.
        number: of the file in the cache; the upper half of the numbers of its cases.
        now: the time that no line may be much later than.
    """
    lines, problems = whole_lines(data, path)
    blocks: dict[str, list[pl.DataFrame]] = {kind: [empty] for kind, empty in EMPTY.items()}
    for begin in range(0, len(lines), _BLOCK):
        block = list(decoded(lines[begin : begin + _BLOCK], path, problems, begin + 1))
        cases = {n: each for n, each in block if isinstance(each, CaseEntry) and not each.fixture}
        others = [(each.time, lines[n - 1]) for n, each in block if not isinstance(each, CaseEntry)]
        blocks["cases"].append(_cases(cases, number << 32))
        blocks["samples"].append(_samples(cases, number << 32))
        blocks["others"].append(_dated(pl.DataFrame(others, schema=_OTHERS, orient="row")))
    frames = {kind: pl.concat(found) for kind, found in blocks.items()}
    late = pl.col("time") > now + _FUTURE
    problems += _misdated(frames["cases"], late, path, now + _FUTURE)
    if (kept := frames["cases"].filter(~late)).height < frames["cases"].height:
        frames |= {"cases": kept, "samples": frames["samples"].join(kept, on="case", how="semi")}
    return Columns(len(lines), frames, problems)


def _cases(cases: Mapping[int, CaseEntry], first: int) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "case": [first + number for number in cases],
        "line": list(cases),
        **{name: list(map(attrgetter(name), cases.values())) for name in _PLAIN},
        "node_list": [",".join(each.nodes) for each in cases.values()],
        "finding": ["; ".join(each.findings) for each in cases.values()],
    }
    schema = {**EMPTY["cases"].schema, "time": pl.String()}
    return _dated(pl.DataFrame(columns, schema_overrides=schema)).select(EMPTY["cases"].columns)


def _samples(cases: Mapping[int, CaseEntry], first: int) -> pl.DataFrame:
    found = [sample for case in cases.values() for sample in case.samples]
    numbers = [first + n for n, case in cases.items() for _ in case.samples]
    columns = {name: list(map(attrgetter(name), found)) for name in _SAMPLE}
    return pl.DataFrame({"case": numbers, **columns}, schema=EMPTY["samples"].schema)


def _dated(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%S%z", time_unit="us"))


def _misdated(frame: pl.DataFrame, late: pl.Expr, path: Path, limit: datetime) -> Iterator[Problem]:
    """Name lines of the future, and those much older than one above them."""
    for line, time in frame.filter(late).select("line", "time").iter_rows():
        detail = f"expected a time until {limit:%Y-%m-%d %H:%M}, found {time:%Y-%m-%d %H:%M}"
        yield Problem(ProblemKind.FUTURE, path, line, detail)
    newest = pl.col("time").cum_max().alias("newest")
    aged = frame.filter(~late).select("line", "time", newest)
    for line, time, above in aged.filter(pl.col("newest") - pl.col("time") > _JUMP).iter_rows():
        detail = (
            f"expected no line older than those above it, found {time:%Y-%m-%d %H:%M} below "
            f"{above:%Y-%m-%d %H:%M}: a clock went back"
        )
        yield Problem(ProblemKind.CLOCK, path, line, detail)
