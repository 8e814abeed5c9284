"""The history: what the record holds, night by night, from its columns."""

import time as clock
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from fabricheck.history.frame import CASE, COLUMNS, KEY, POINT, PROVENANCE
from fabricheck.history.provenance import Provenance, runs_of
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series, SeriesKey
from fabricheck.history.sessions import sessions_by_time
from fabricheck.measures.metrics import Direction
from fabricheck.record.cache import Cache, CacheOutcome, CacheSource
from fabricheck.record.entries import Nodes, Session, from_line
from fabricheck.record.imports import IMPORTED
from fabricheck.record.read import Problem, ProblemKind

_COARSE: Final = ("system", "partition", "environ", "check", "benchmark", "time", "repeat")
_IDENTITY: Final = (*_COARSE, "transport", "num_nodes", "layout", "port", "ranks", "program", "job")
"""What no two cases have in common: a case in two files of the record is one."""

_LONGEST: Final = timedelta(days=2)
"""No session takes longer: what it ran on is written at its begin."""


@dataclass(frozen=True, slots=True)
class HistoryStatus:
    """What a history holds.

    Attributes:
        values: number of values.
        series: number of series.
        sessions: number of sessions that the record names.
        oldest: time of the first value; empty without any.
        newest: time of the last value.
        roots: where the record is.
        sources: the files of the record that were read.
        problems: what is wrong with their lines.
    """

    values: int
    series: int
    sessions: int
    oldest: str
    newest: str
    roots: Sequence[Path]
    sources: Sequence[CacheSource]
    problems: Sequence[Problem]


class History:
    """An open history."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @classmethod
    @contextmanager
    def open(cls, directory: Path) -> Iterator["History"]:
        """Open a history; an empty one is made where none is.

        Raises:
            FabricheckError: if the directory can't be written, is of somebody else, or damaged.
        """
        with Cache.to_write(directory) as cache:
            yield cls(cache)

    @classmethod
    @contextmanager
    def open_to_read(cls, directory: Path) -> Iterator["History"]:
        """Open a history that is there; its place may be read-only.

        Raises:
            FabricheckError: if there is none, one of another version, or a damaged one.
        """
        with Cache.to_read(directory) as cache:
            yield cls(cache)

    def refresh(self, perflogs: Sequence[Path] = (), now: datetime | None = None) -> CacheOutcome:
        """Read what is new, all or nothing.

        Args:
            perflogs: directories or files of the record to read from now on, beside those known.
            now: the time that no line may be later than; that of the clock, if none is given.

        Raises:
            FabricheckError: if something stands against it; the history is then as it was.
        """
        began = clock.monotonic()
        for root in perflogs:
            if (place := root.absolute()) not in self._cache.roots:
                self._cache.roots.append(place)
        outcome = self._cache.refresh(now or datetime.now(UTC))
        outcome.seconds = clock.monotonic() - began
        return outcome

    def roots(self) -> list[Path]:
        """Where the record is that is read."""
        return self._cache.roots

    def series(self, selection: Selection = Selection()) -> Iterator[Series]:
        """The wanted series in the order of their keys, without values that nobody measured."""
        cases = self._with_sessions(self._cases(selection))
        keys = cases.select(*CASE).unique().sort(list(CASE)).with_row_index("key")
        names = cases["session"].unique().sort()
        cases = cases.join(keys, on=list(CASE)).select(
            *("case", "key", "time"),
            pl.col("session").replace_strict(names, range(len(names)), return_dtype=pl.UInt32),
        )
        point = ("key", *POINT)
        values = (
            self._samples(selection, cases)
            .filter(pl.col("value").is_not_null())
            .group_by(*point, "session")
            .agg(pl.col("time").min(), pl.col("value").median())
            .collect()
        )
        nights = values.sort(*point, "time", "session", nulls_last=False)
        better = self._better(selection, cases)
        texts = names.to_numpy().astype(np.str_)
        times = nights["time"].dt.replace_time_zone(None).to_numpy().astype("datetime64[s]")
        numbers, sessions = nights["value"].to_numpy(), nights["session"].to_numpy()
        lengths = nights.group_by(*point, maintain_order=True).len().rows()
        start = 0
        rows = keys.rows()
        for number, *rest, length in lengths:
            part = slice(start, start + length)
            start += length
            key = SeriesKey(*rows[number][1:], *rest)
            yield Series(
                key,
                times[part],
                numbers[part],
                texts[sessions[part]],
                better.get((number, key.metric)),
            )

    def systems(self) -> list[str]:
        """The systems that it has cases of."""
        return sorted(self._cases(Selection())["system"].unique())

    def cases(self, selection: Selection = Selection()) -> pl.DataFrame:
        """The wanted cases, whatever came of them, with the names of their nodes."""
        return self._cases(selection)

    def values(self, selection: Selection = Selection(), *, named: bool = False) -> pl.LazyFrame:
        """Every wanted value with everything that is known of it, in the order of time.

        Args:
            selection: which values.
            named: sessions that no record names get the name that ``series`` gives them.
        """
        cases = self._cases(selection).rename({"result": "case_result"}).drop("level")
        cases = self._with_sessions(cases) if named else cases
        return (
            self._samples(selection, cases)
            .with_columns(
                pl.when(pl.col("result") == "")
                .then(pl.col("case_result"))
                .otherwise(pl.col("result"))
                .alias("result")
            )
            .select(COLUMNS.keys())
            .sort("time", *KEY, "job")
        )

    def provenance(self, selection: Selection = Selection()) -> Provenance:
        """On what and with what the wanted values were measured."""
        cases = self._with_sessions(self._cases(selection))
        runs = (
            cases.sort("time", "case")
            .select("session", *CASE, *PROVENANCE)
            .unique(maintain_order=True)
        )
        begin = selection.since - _LONGEST if selection.since else None
        origins = [each for each in self._others(begin) if isinstance(each, Nodes)]
        return Provenance(origins, runs_of(runs.iter_rows(named=True)))

    def sessions(self) -> list[Session]:
        """The sessions whose end was recorded."""
        return [each for each in self._others() if isinstance(each, Session)]

    def status(self) -> HistoryStatus:
        """What the history holds."""
        everything = Selection()
        cases = self._cases(everything)
        keys = cases.select("case", pl.struct(*CASE).rank("dense").alias("key"), "time")
        found = (
            self._samples(everything, keys)
            .select(
                pl.len().alias("values"),
                pl.struct("key", *POINT).n_unique().alias("series"),
                pl.col("time").min().alias("oldest"),
                pl.col("time").max().alias("newest"),
            )
            .collect()
            .row(0, named=True)
        )
        sources = list(self._cache.sources.values())
        return HistoryStatus(
            found["values"],
            found["series"] if found["values"] else 0,
            cases.filter(pl.col("session") != "")["session"].n_unique(),
            _text(found["oldest"]),
            _text(found["newest"]),
            self._cache.roots,
            sources,
            [*(each for source in sources for each in source.found), *self._duplicates()],
        )

    def _cases(self, selection: Selection) -> pl.DataFrame:
        """The wanted cases, each once."""
        frame = selection.of_cases(self._cache.scan("cases")).collect()
        again = _repeated(frame, self._imported())
        return frame if again.is_empty() else frame.join(again, on="case", how="anti")

    def _samples(self, selection: Selection, cases: pl.DataFrame) -> pl.LazyFrame:
        samples = selection.of_points(self._cache.scan("samples"))
        return samples.join(cases.lazy(), on="case")

    def _duplicates(self) -> Iterator[Problem]:
        numbers = {source.number: Path(source.path) for source in self._cache.sources.values()}
        frame = self._cache.scan("cases").select(*_IDENTITY, "case", "line", "session").collect()
        for case, line in _repeated(frame, self._imported()).sort("case").iter_rows():
            detail = "the case stands elsewhere already"
            yield Problem(ProblemKind.DUPLICATE, numbers[case >> 32], line, detail)

    def _imported(self) -> list[int]:
        """Numbers of the files that were made of other formats."""
        return [
            source.number
            for source in self._cache.sources.values()
            if Path(source.path).parent.name == IMPORTED
        ]

    def _others(self, begin: datetime | None = None) -> Iterator[Nodes | Session]:
        frame = self._cache.scan("others")
        if begin:
            frame = frame.filter(pl.col("time") >= begin)
        for line in frame.sort("time", maintain_order=True).collect()["line"]:
            entry = from_line(line)
            if isinstance(entry, Nodes | Session):
                yield entry

    def _with_sessions(self, cases: pl.DataFrame) -> pl.DataFrame:
        """Cases whose sessions all have a name.

        A session that no record names is told from everything that was measured, so that it is the
        same in every selection.
        """
        if (cases["session"] != "").all():
            return cases
        nameless = self._cache.scan("cases").filter(pl.col("session") == "").collect()
        nameless = nameless.with_columns(pl.struct(*CASE).rank("dense").alias("series_id"))
        found = sessions_by_time(nameless)
        first = found.group_by("place").agg(
            pl.col("time").min().dt.strftime("%Y-%m-%dT%H:%M:%SZ").alias("named")
        )
        named = found.join(first, on="place").select("system", "time", "named")
        return (
            cases.join(named, on=["system", "time"], how="left")
            .with_columns(
                pl.when(pl.col("session") == "")
                .then(pl.col("named"))
                .otherwise(pl.col("session"))
                .alias("session")
            )
            .drop("named")
        )

    def _better(
        self, selection: Selection, cases: pl.DataFrame
    ) -> dict[tuple[int, str], Direction]:
        """Which values are better of other suites' series, as the newest thresholds tell.

        Who gives a lower one only takes more for better.
        """
        lower, upper = (
            pl.col(name).is_finite().fill_null(value=False) for name in ("lower", "upper")
        )
        found = (
            self._samples(selection, cases)
            .filter(pl.col("statistic") == "", lower | upper)
            .sort("time")
            .group_by("key", "metric")
            .agg(lower.last().alias("lower"), upper.last().alias("upper"))
            .filter(pl.col("lower") != pl.col("upper"))
            .collect()
        )
        return {
            (key, metric): Direction.HIGHER if lower else Direction.LOWER
            for key, metric, lower, _ in found.iter_rows()
        }


def _text(time: datetime | None) -> str:
    return time.replace(tzinfo=None).isoformat() if time else ""


def _repeated(cases: pl.DataFrame, imported: Sequence[int]) -> pl.DataFrame:
    """The cases that stand elsewhere in the record, with ``case`` and ``line``.

    What the suite wrote itself goes before what was imported, and what names its session first.
    A case of another suite may be known from a perflog that says less (no job, no nodes) and from
    a results database: then it is the one that says more.
    """
    repeated = []
    if cases.select(_IDENTITY).is_duplicated().any():
        foreign = (pl.col("case") // 2**32).is_in(imported)
        ranked = cases.sort(pl.col("session") == "", foreign, "case")
        first = ranked.unique(_IDENTITY, keep="first", maintain_order=True)
        repeated.append(cases.join(first, on="case", how="anti").select("case", "line"))
    vague = (pl.col("program") == "") & ((pl.col("job") == "") | (pl.col("num_nodes") == 0))
    less = cases.filter(vague)
    if not less.is_empty():
        more = cases.filter(~vague)
        known = less.join(more, on=_COARSE, how="semi", nulls_equal=True)
        repeated.append(known.select("case", "line"))
    if not repeated:
        return cases.select("case", "line").clear()
    return pl.concat(repeated).unique()
