"""The lines of a record file in columns."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from fabricheck.record.entries import HEAD, MOMENT, Case, Entry, Sample, from_line, is_sound
from fabricheck.record.read import Kind, Problem, whole_lines

_BLOCK: Final = 1 << 23
_FUTURE: Final = timedelta(hours=1)
_JUMP: Final = timedelta(days=1)
_KIND: Final = slice(len(HEAD) + 10, len(HEAD) + 10 + len(b'"kind":"case",'))
_TEXTS: Final = (
    *("session", "system", "partition", "environ", "check", "benchmark", "transport", "layout"),
    *("binding", "program", "options", "result", "level", "job", "mpi", "mpi_version"),
    *("ucx_version", "program_version", "commit", "reference_kind"),
)
_COUNTS: Final = ("num_nodes", "ranks", "ranks_per_node")
SAMPLE: Final = {
    **dict.fromkeys(("metric", "statistic", "unit", "level", "result"), pl.String()),
    "size": pl.Int64(),
    **dict.fromkeys(
        ("value", "reference", "lower", "upper", "warning_lower", "warning_upper"), pl.Float64()
    ),
}
_LINE: Final = {
    "time": pl.String(),
    **dict.fromkeys(_TEXTS, pl.String()),
    **dict.fromkeys(_COUNTS, pl.Int32()),
    "repeat": pl.UInt32(),
    "fixture": pl.Boolean(),
    "nodes": pl.List(pl.String()),
    "findings": pl.List(pl.String()),
}
_SAMPLES: Final = b',"samples":['
_BETWEEN: Final = b'},{"metric":'
"""What stands before a line's samples and between two of them. Neither can stand in a text, where
a quotation mark is escaped."""
_TIME: Final = pl.Datetime("us", "UTC")
_EMPTY_CASES: Final = pl.DataFrame(
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
)
_EMPTY_SAMPLES: Final = pl.DataFrame(schema={"case": pl.UInt64(), **SAMPLE})
_EMPTY_OTHERS: Final = pl.DataFrame(schema={"time": _TIME, "line": pl.Binary()})
EMPTY: Final = {"cases": _EMPTY_CASES, "samples": _EMPTY_SAMPLES, "others": _EMPTY_OTHERS}


@dataclass(frozen=True, slots=True)
class Source:
    """A record file, and how far it was read.

    Attributes:
        path: the file.
        number: of the file in the cache; the upper half of the numbers of its cases.
        stamp: device, inode, size and times of change as it was read.
        offset: bytes that were read, unpacked, all of them whole lines.
        lines: how many lines that was.
        checksum: CRC-32 of these bytes.
        newest: the latest time on its lines, in seconds since 1970.
        part: name of its Parquet files.
        state: their checksums.
        problems: kind, line, and detail of each.
        due: when a line of the future comes of age, in seconds since 1970; 0 for none.
    """

    path: str
    number: int
    stamp: str = ""
    offset: int = 0
    lines: int = 0
    checksum: int = 0
    newest: float = 0.0
    part: str = ""
    state: str = ""
    problems: Sequence[tuple[str, int, str]] = ()
    due: float = 0.0

    @property
    def found(self) -> list[Problem]:
        """What is wrong with its lines."""
        path = Path(self.path)
        return [Problem(Kind(kind), path, line, detail) for kind, line, detail in self.problems]


class Reading:
    """The rows of what is new in a record file, and what is wrong with its lines."""

    def __init__(
        self, path: Path, start: Source, data: bytes, problems: list[Problem], now: datetime
    ) -> None:
        self._path = path
        self._start = start
        self._limit = now + _FUTURE
        self._newest = start.newest
        self._due = start.due
        lines, cut = whole_lines(data[start.offset :], path, start.lines + 1)
        self.lines = len(lines)
        self.problems = [*problems, *cut]
        end = len(data) - (len(data) - data.rfind(b"\n") - 1 if cut else 0)
        self._offset, self._checksum = end, zlib.crc32(memoryview(data)[:end])
        found: dict[str, list[pl.DataFrame]] = {kind: [] for kind in EMPTY}
        for first, block in _blocks(lines, start.lines + 1):
            for kind, frame in self._rows(block, first).items():
                found[kind].append(frame)
        self.rows = {kind: pl.concat([EMPTY[kind], *found[kind]]) for kind in EMPTY}

    def source(self, stamp: str) -> Source:
        """How far the file was read."""
        return replace(
            self._start,
            stamp=stamp,
            offset=self._offset,
            lines=self._start.lines + self.lines,
            checksum=self._checksum,
            newest=self._newest,
            due=self._due,
        )

    def _rows(self, lines: Sequence[bytes], first: int) -> dict[str, pl.DataFrame]:
        cases, numbers, others = [], [], []
        for number, line in enumerate(lines, start=first):
            entry = None
            if (is_sound(line) and line[_KIND] == b'"kind":"case",') or isinstance(
                entry := self._entry(line, number), Case
            ):
                cases.append(line)
                numbers.append(number)
            elif entry is not None:
                others.append((datetime.fromisoformat(entry.time), line))
        frame, samples = self._cases(cases, numbers)
        kept = self._dated(frame.filter(~pl.col("fixture").fill_null(value=False)))
        if kept.height < frame.height:
            samples = samples.join(kept, on="case", how="semi")
        return {
            "cases": kept.select(_EMPTY_CASES.columns),
            "samples": samples.select(_EMPTY_SAMPLES.columns),
            "others": pl.DataFrame(others, schema=_EMPTY_OTHERS.schema, orient="row"),
        }

    def _entry(self, line: bytes, number: int) -> Entry | None:
        try:
            return from_line(line)
        except ValueError as error:
            self.problems.append(Problem(Kind.DAMAGED, self._path, number, str(error)))
            return None

    def _cases(self, lines: list[bytes], numbers: list[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The lines and their samples in columns, all at once; else one by one."""
        try:
            frame, samples, counts = _parsed(lines)
        except pl.exceptions.PolarsError:
            found = [
                (self._entry(line, number), number)
                for line, number in zip(lines, numbers, strict=True)
            ]
            cases = [(each, number) for each, number in found if isinstance(each, Case)]
            numbers = [number for _, number in cases]
            frame, samples, counts = _converted([case for case, _ in cases])
        frame = frame.with_columns(
            (pl.Series(numbers, dtype=pl.UInt64) + (self._start.number << 32)).alias("case"),
            pl.Series("line", numbers, dtype=pl.UInt32),
            pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%S%z", time_unit="us"),
            pl.col(_TEXTS).fill_null(""),
            pl.col(_COUNTS).fill_null(0),
            pl.col("nodes").list.join(",").fill_null("").alias("node_list"),
            pl.col("findings").list.join("; ").fill_null("").alias("finding"),
        )
        return frame, samples.with_columns(
            pl.Series("case", np.repeat(frame["case"].to_numpy(), counts), dtype=pl.UInt64),
            pl.col("statistic", "unit", "level", "result").fill_null(""),
        )

    def _dated(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Sort out lines of the future, and name those much older than one above them."""
        late = frame.filter(pl.col("time") > self._limit)
        for line, time in late.select("line", "time").iter_rows():
            detail = (
                f"expected a time until {self._limit:%Y-%m-%d %H:%M}, found {time:%Y-%m-%d %H:%M}"
            )
            self.problems.append(Problem(Kind.FUTURE, self._path, line, detail))
            due = (time - _FUTURE).timestamp()
            self._due = min(self._due or due, due)
        frame = frame.filter(pl.col("time") <= self._limit)
        if frame.is_empty():
            return frame
        start = datetime.fromtimestamp(self._newest, UTC)
        newest = pl.col("time").cum_max().clip(lower_bound=start)
        old = frame.with_columns(newest.alias("newest")).filter(
            pl.col("newest") - pl.col("time") > _JUMP
        )
        for line, time, above in old.select("line", "time", "newest").iter_rows():
            detail = (
                f"expected no line older than those above it, found {time:%Y-%m-%d %H:%M} below "
                f"{above:%Y-%m-%d %H:%M}: a clock went back"
            )
            self.problems.append(Problem(Kind.CLOCK, self._path, line, detail))
        latest = frame["time"].max()
        assert isinstance(latest, datetime)
        self._newest = max(self._newest, latest.timestamp())
        return frame


def _parsed(lines: Sequence[bytes]) -> tuple[pl.DataFrame, pl.DataFrame, list[int]]:
    """Lines as they were written: cases, samples, and how many of these each case has.

    Flat objects are read five times as fast as lists of them, so the samples are cut apart first.

    Raises:
        PolarsError: if a line is not as the suite writes it.
    """
    heads, bodies, counts = [], [], []
    for line in lines:
        head, mark, body = line.rpartition(_SAMPLES)
        heads.append(head + b"}" if mark else body)
        if mark:
            bodies.append(body[:-2])
        counts.append(body.count(_BETWEEN) + 1 if mark else 0)
    head, body = b"\n".join(heads), b"\n".join(bodies).replace(_BETWEEN, b'}\n{"metric":')
    frame, samples = _objects(head, _LINE), _objects(body, SAMPLE)
    known = (frame.height, samples.height) == (len(lines), sum(counts))
    if not known or b'"samples"' in head or _are_odd(frame, samples):
        raise pl.exceptions.ComputeError("lines that are not as the suite writes them")
    return frame, samples, counts


def _are_odd(frame: pl.DataFrame, samples: pl.DataFrame) -> bool:
    """Whether a line has a time or number that :func:`from_line` refuses."""
    time = pl.col("time")
    dated = time.str.contains(f"^{MOMENT}$") & (
        time.str.to_datetime("%Y-%m-%dT%H:%M:%S+00:00", strict=False).is_not_null()
    )
    possible = dated.fill_null(value=False) & pl.all_horizontal(pl.col(*_COUNTS).fill_null(0) >= 0)
    finite = pl.all_horizontal(
        pl.col(pl.Float64).is_finite().fill_null(value=True), pl.col("size").fill_null(0) >= 0
    )
    return not (
        frame.select(possible).to_series().all() and samples.select(finite).to_series().all()
    )


def _objects(text: bytes, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return pl.read_ndjson(BytesIO(text), schema=schema) if text else pl.DataFrame(schema=schema)


def _converted(cases: Sequence[Case]) -> tuple[pl.DataFrame, pl.DataFrame, list[int]]:
    """The same of decoded lines."""
    samples = [sample for case in cases for sample in case.samples]
    return _rows(cases, _LINE), _rows(samples, SAMPLE), [len(case.samples) for case in cases]


def _rows(
    given: Sequence[Case] | Sequence[Sample], schema: Mapping[str, pl.DataType]
) -> pl.DataFrame:
    columns = {name: [getattr(each, name) for each in given] for name in schema}
    return pl.DataFrame(columns, schema=schema, strict=False)


def _blocks(lines: list[bytes], first: int) -> Iterator[tuple[int, list[bytes]]]:
    """The lines in parts that fit into memory as columns, each with its first line's number."""
    begin = size = 0
    for place, line in enumerate(lines):
        size += len(line)
        if size > _BLOCK:
            yield first + begin, lines[begin : place + 1]
            begin, size = place + 1, 0
    if begin < len(lines):
        yield first + begin, lines[begin:]
