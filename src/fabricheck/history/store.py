"""The history: what the record holds, read once and kept in columns.

A store is a directory with a catalogue (SQLite) and segments (Parquet). It is a cache: removing it
loses nothing, the next refresh reads the record again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from fabricheck.benchmarks.metrics import Direction
from fabricheck.errors import FabricheckError
from fabricheck.history import refresh as refreshing
from fabricheck.history.catalog import Catalog
from fabricheck.history.database import is_plain_file
from fabricheck.history.frame import COLUMNS, KEY, PROVENANCE
from fabricheck.history.problems import Problem
from fabricheck.history.provenance import CASE, Provenance, runs_of
from fabricheck.history.refresh import Outcome, Request
from fabricheck.history.segments import Segments, cannot_write, is_segment
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series, SeriesKey
from fabricheck.history.sessions import sessions_by_time
from fabricheck.history.sources import Source

_CATALOG: Final = "catalog.sqlite"


@dataclass(frozen=True, slots=True)
class Status:
    """What a history holds.

    Attributes:
        values: number of values.
        series: number of series.
        sessions: number of sessions that the record names.
        oldest: time of the first value.
        newest: time of the last value.
        roots: kind and place of what is read.
        sources: the files of the record that were read.
        problems: what is wrong with their lines, and with cases of results databases, each with
            its file.
    """

    values: int
    series: int
    sessions: int
    oldest: str
    newest: str
    roots: list[tuple[str, Path]]
    sources: list[Source]
    problems: list[tuple[Path, Problem]]


class History:
    """An open history."""

    def __init__(self, directory: Path, catalog: Catalog) -> None:
        self._path = directory / _CATALOG
        self._catalog = catalog
        self._segments = Segments(directory, catalog)

    @classmethod
    @contextmanager
    def open(cls, directory: Path) -> Iterator["History"]:
        """Open a history; an empty one is made where none is.

        Raises:
            FabricheckError: if the directory can't be written, is of somebody else, or damaged.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(directory)
        except OSError as error:
            raise cannot_write(directory, error) from error
        catalog = Catalog.open(directory / _CATALOG)
        try:
            yield cls(directory, catalog)
        finally:
            catalog.close()

    @classmethod
    @contextmanager
    def open_to_read(cls, directory: Path) -> Iterator["History"]:
        """Open a history that is there; its place may be read-only.

        Raises:
            FabricheckError: if there is none, one of another version, or a damaged one.
        """
        catalog = Catalog.open_to_read(directory / _CATALOG)
        try:
            yield cls(directory, catalog)
        finally:
            catalog.close()

    def refresh(self, request: Request) -> Outcome:
        """Read what is new, all or nothing.

        Raises:
            FabricheckError: if something stands against it; the history is then as it was.
        """
        try:
            with self._catalog.transaction(self._path):
                return refreshing.refresh(self._catalog, self._segments, request)
        except OSError as error:
            raise cannot_write(self._path.parent, error) from error

    def roots(self) -> list[tuple[str, Path]]:
        """Kind and place of what is read."""
        return self._catalog.roots()

    def series(self, selection: Selection = Selection()) -> Iterator[Series]:  # noqa: B008
        """The wanted series in the order of their keys, without values that nobody measured."""
        wanted = selection.of_series(self._catalog.dimension("series"))
        values = (
            self._selected(selection, wanted)
            .filter(pl.col("value").is_not_null())
            .select("series_id", "session_id", "time", "value")
            .collect()
        )
        values, names = self._with_sessions(values)
        nights = (
            values.group_by("series_id", "session_id")
            .agg(pl.col("time").min(), pl.col("value").median())
            .sort("series_id", "time", "session_id")
        )
        better = self._better(wanted)
        texts = names.to_numpy().astype(np.str_)
        bounds = nights["series_id"].rle().struct.unnest()
        ends = dict(zip(bounds["value"], bounds["len"].cum_sum(), strict=True))
        starts = dict(zip(bounds["value"], bounds["len"].cum_sum() - bounds["len"], strict=True))
        times = nights["time"].dt.replace_time_zone(None).to_numpy().astype("datetime64[s]")
        numbers, sessions = nights["value"].to_numpy(), nights["session_id"].to_numpy()
        for number, *fields in wanted.sort(list(KEY)).iter_rows():
            if number in ends:
                part = slice(starts[number], ends[number])
                yield Series(
                    SeriesKey(*fields),
                    times[part],
                    numbers[part],
                    texts[sessions[part]],
                    better.get(number),
                )

    def values(self, selection: Selection = Selection()) -> pl.LazyFrame:  # noqa: B008
        """Every wanted value with everything that is known of it, in the order of time."""
        wanted = selection.of_series(self._catalog.dimension("series"))
        frame = self._selected(selection, wanted).join(wanted.lazy(), on="series_id")
        for kind in ("session", "provenance"):
            frame = frame.join(self._catalog.dimension(kind).lazy(), on=f"{kind}_id")
        return frame.select(COLUMNS.keys()).sort("time", *KEY, "job")

    def provenance(self, selection: Selection = Selection()) -> Provenance:  # noqa: B008
        """On what and with what the wanted values were measured."""
        wanted = selection.of_series(self._catalog.dimension("series"))
        columns = ("series_id", "session_id", "provenance_id", "time")
        values, names = self._with_sessions(
            self._selected(selection, wanted).select(columns).collect()
        )
        cases = wanted.select("series_id", pl.struct(CASE).rank("dense").alias("case"))
        runs = (
            values.join(cases, on="series_id")
            .select("case", "session_id", "provenance_id")
            .unique()
            .join(cases.unique("case").join(wanted, on="series_id"), on="case")
            .join(names.to_frame().with_row_index("session_id"), on="session_id")
            .join(self._catalog.dimension("provenance"), on="provenance_id")
            .sort("provenance_id")
            .select(pl.col("session", *CASE, "program", *PROVENANCE).fill_null(""))
        )
        return Provenance(self._catalog.origins(), runs_of(runs.iter_rows(named=True)))

    def status(self) -> Status:
        """What the history holds."""
        segments = self._catalog.segments()
        self._segments.check(segments)
        sources = self._catalog.sources()
        paths = {source.number: source.path for source in sources}
        paths |= self._catalog.database_paths()
        edges = [min((each.oldest for each in segments), default=None)]
        edges.append(max((each.newest for each in segments), default=None))
        oldest, newest = (
            ""
            if edge is None
            else np.datetime64(edge, "us").astype("datetime64[s]").item().isoformat()
            for edge in edges
        )
        return Status(
            sum(each.rows for each in segments),
            # A results database numbers series whose values then stand under a perflog's.
            self._segments.scan().select(pl.col("series_id").n_unique()).collect().item(),
            self._catalog.dimension("session").filter(pl.col("session") != "").height,
            oldest,
            newest,
            self.roots(),
            sources,
            [(paths[number], problem) for number, problem in self._catalog.problems()],
        )

    def _with_sessions(self, values: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
        """Values whose sessions all have a number, and the names of all by number.

        A session that no record names is told from everything that was measured, so that it is the
        same in every selection.
        """
        names = self._catalog.dimension("session")["session"]
        nameless = (names == "").arg_true()
        if nameless.is_empty():
            return values, names
        without = pl.col("session_id") == nameless[0]
        systems = self._catalog.dimension("series").select("series_id", "system")
        facts = self._segments.scan().filter(without).select("series_id", "time", "job", "repeat")
        found = sessions_by_time(facts.collect().join(systems, on="series_id"))
        values = (
            values.join(systems, on="series_id")
            .join(found, on=("system", "time"), how="left")
            .with_columns(
                pl.when(without)
                .then(pl.col("place") + len(names))
                .otherwise(pl.col("session_id"))
                .alias("session_id")
            )
        )
        first = found.group_by("place").agg(pl.col("time").min()).sort("place")["time"]
        return values, pl.concat([names, first.dt.strftime("%Y-%m-%dT%H:%M:%SZ")])

    def _better(self, wanted: pl.DataFrame) -> dict[int, Direction]:
        """Which values are better of other suites' series, as the newest thresholds tell.

        Who gives a lower one only takes more for better.
        """
        foreign = wanted.filter(pl.col("statistic") == "")["series_id"]
        lower, upper = (pl.col(name).is_finite().fill_null(False) for name in ("lower", "upper"))  # noqa: FBT003
        found = (
            self._segments.scan()
            .filter(pl.col("series_id").is_in(foreign.implode()), lower | upper)
            .sort("time")
            .group_by("series_id")
            .agg(lower.last().alias("lower"), upper.last().alias("upper"))
            .filter(pl.col("lower") != pl.col("upper"))
            .collect()
        )
        return {
            number: Direction.HIGHER if lower else Direction.LOWER
            for number, lower, _ in found.iter_rows()
        }

    def _selected(self, selection: Selection, wanted: pl.DataFrame) -> pl.LazyFrame:
        values = selection.of_values(self._segments.scan())
        if not selection.fields:
            return values
        return values.filter(pl.col("series_id").is_in(wanted["series_id"].implode()))


def is_store(path: Path) -> bool:
    """Whether a file belongs to a history, by its name."""
    return path.name in (_CATALOG, f"{_CATALOG}-journal") or is_segment(path)


def _refuse_foreign(directory: Path) -> None:
    """Refuse a directory that holds files and no catalogue: they are not the history's."""
    catalog = directory / _CATALOG
    if is_plain_file(catalog) and catalog.stat().st_size:
        return
    others = sorted(path.name for path in directory.iterdir() if not is_store(path))
    if others:
        raise FabricheckError(
            f"expected a history or an empty directory at {directory}, found {others[0]!r} and no "
            "history: name another place with --store; nothing was changed"
        )
