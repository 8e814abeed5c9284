"""Values on their way into the store: dated, numbered, and compared with what is there."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from fabricheck.history.catalog import DIMENSIONS, Catalog
from fabricheck.history.counterparts import fuller, named_as
from fabricheck.history.frame import KEY
from fabricheck.history.problems import Kind, Located, Problem
from fabricheck.history.reading import PerflogFile
from fabricheck.history.segments import IDENTITY, SCHEMA, Numbering, Segments

FUTURE: Final = timedelta(hours=1)
"""A time so much later than now is in the future; hosts' clocks may differ by less."""
OLDEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""No measurement is older; clocks without battery say 1970."""

_PENDING: Final = 1_000_000
_PLACE: Final = ("source", "line")


class OutdatedError(Exception):
    """Adding to what is there would give something else than reading everything."""


class Intake:
    """Takes values until they are enough for a segment.

    Args:
        catalog: where dimensions are kept.
        segments: where values are kept.
        now: the time that no line may be much later than.
    """

    def __init__(self, catalog: Catalog, segments: Segments, now: datetime) -> None:
        self.limit = now + FUTURE
        self.taken = 0
        self._segments = segments
        self._numbers = {kind: Numbering(kind, catalog) for kind in DIMENSIONS}
        self._pending: list[pl.DataFrame] = []
        self._told: list[pl.DataFrame] = []

    def take(self, frame: pl.DataFrame, files: Mapping[int, PerflogFile]) -> list[Located]:
        """Take values of perflogs, and say which lines have a problem.

        Args:
            frame: values in the order of files and lines, with the column ``source``.
            files: the perflog of each source.

        Raises:
            OutdatedError: if a results database had some of them, and everything must be read anew.
        """
        if frame.is_empty():
            return []
        frame, problems = self._dated(frame)
        problems += _jumps(frame, files)
        values, units = self._number(frame)
        values, known = self._new(values, files)
        self._pend(values)
        return [*problems, *units, *known]

    def take_stored(self, frame: pl.DataFrame) -> list[Problem]:
        """Take values of a results database; of those that a perflog has, what it does not say."""
        values, units = self._number(frame.with_columns(pl.lit(0, pl.UInt32).alias("source")))
        values = values.with_columns(pl.lit(True).alias("stored"))  # noqa: FBT003
        values = values.unique(IDENTITY, keep="first", maintain_order=True)
        values = values.join(self._matches(values).filter("stored"), on=IDENTITY, how="anti")
        told = named_as(values, self._logged(values), self._numbers["series"].known)
        self._told.append(told.select(SCHEMA.keys()))
        own = told.select(series_id="told_id", time="time", job="told_job")
        self._pend(values.join(own, on=IDENTITY, how="anti"))
        return [problem for _, problem in units]

    def end(self) -> None:
        """Write what was taken."""
        self._flush()
        told = pl.concat(self._told) if self._told else pl.DataFrame(schema=SCHEMA)
        told = told.unique(IDENTITY, keep="first", maintain_order=True)
        for segment in self._segments.around(told):
            rows = self._segments.scan([segment]).collect()
            known = rows.join(told, on=IDENTITY, how="semi", maintain_order="left")
            if not fuller(known, told, self._numbers).equals(known):
                self._segments.replace(segment, fuller(rows, told, self._numbers))

    def _flush(self) -> None:
        if self._pending:
            self._segments.write(pl.concat(self._pending, how="diagonal"))
            self._pending.clear()

    def _dated(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Located]]:
        """Sort out lines whose date can't be."""
        times = frame["time"]
        problems: list[Located] = []
        if times.max() > self.limit:  # type: ignore[operator]
            late = frame.filter(times > self.limit).unique(_PLACE, maintain_order=True)
            problems += [
                (source, _future(line, time, self.limit))
                for source, line, time in late.select(*_PLACE, "time").iter_rows()
            ]
        if times.min() < OLDEST:  # type: ignore[operator]
            early = frame.filter(times < OLDEST).unique(_PLACE, maintain_order=True)
            problems += [
                (source, _damaged(line, f"expected a time since 2000, found {time}"))
                for source, line, time in early.select(*_PLACE, "time").iter_rows()
            ]
        if problems:
            frame = frame.filter(times.is_between(OLDEST, self.limit))
        return frame, problems

    def _number(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Located]]:
        """Numbers in place of texts, and series that are there already with another unit."""
        values = frame.with_columns(pl.lit(False).alias("stored"))  # noqa: FBT003
        found: list[Located] = []
        for kind, numbering in self._numbers.items():
            values, new = numbering.number(values)
            if kind == "series" and not new.is_empty():
                found = _other_units(frame, new, numbering.known)
        return values, found

    def _matches(self, values: pl.DataFrame) -> pl.DataFrame:
        """What is there already with the identity of one of the values."""
        oldest, newest = values["time"].min(), values["time"].max()
        pending = [
            frame.select(*IDENTITY, "value", "stored")
            for frame in self._pending
            if frame["time"].min() <= newest and oldest <= frame["time"].max()  # type: ignore[operator]
        ]
        known = pl.concat([self._segments.overlapping(values), *pending])
        return known.join(values.select(IDENTITY), on=IDENTITY, how="semi")

    def _logged(self, values: pl.DataFrame, *, stored: bool = False) -> pl.DataFrame:
        """What perflogs, or results databases, said of the times of these values."""
        segments = self._segments.scan(self._segments.around(values))
        known = [frame.lazy() for frame in self._pending]
        return (
            pl.concat(each.select(*IDENTITY, "stored") for each in [segments, *known])
            .filter(pl.col("stored") == stored, pl.col("time").is_in(values["time"].implode()))
            .collect()
        )

    def _say_less(self, values: pl.DataFrame) -> pl.DataFrame:
        """Values of perflogs whose lines name no job, no nodes or no ranks."""
        nodes = self._numbers["series"].known.filter(
            (pl.col("num_nodes") == 0) | (pl.col("ranks") == 0), pl.col("statistic") == ""
        )
        vague = pl.col("series_id").is_in(nodes["series_id"].implode())
        return values.filter(vague | (pl.col("job") == ""))

    def _new(
        self, values: pl.DataFrame, files: Mapping[int, PerflogFile]
    ) -> tuple[pl.DataFrame, list[Located]]:
        """The values that are not there yet; those that are count as duplicate lines."""
        if values.is_empty():
            return values, []
        matches = self._matches(values)
        stored = values.join(matches.filter("stored"), on=IDENTITY, how="semi")
        if stored.is_empty() and not (vague := self._say_less(values)).is_empty():
            known = self._logged(vague, stored=True)
            stored = named_as(known, vague, self._numbers["series"].known)
            stored = vague.join(stored, on=IDENTITY, how="semi")
        if not stored.is_empty():
            path = files[stored["source"][0]].path
            raise OutdatedError(f"{path} has what only the results database had")
        # Of equal rows the hashes are equal: this is the quick way to see that there are none.
        if matches.is_empty() and values.select(IDENTITY).hash_rows().n_unique() == values.height:
            return values, []
        first = values.unique(IDENTITY, keep="first", maintain_order=True)
        place = (*_PLACE, *IDENTITY)
        again = values.join(first.select(place), on=place, how="anti")
        known = pl.concat([matches, first.select(matches.columns)]).unique(
            IDENTITY, keep="first", maintain_order=True
        )
        repeated = pl.concat([again, first.join(matches, on=IDENTITY, how="semi")])
        compared = repeated.join(known, on=IDENTITY, suffix="_known")
        return first.join(matches, on=IDENTITY, how="anti"), list(_repetitions(compared))

    def _pend(self, values: pl.DataFrame) -> None:
        if values.is_empty():
            return
        self.taken += values.height
        self._pending.append(values)
        if sum(frame.height for frame in self._pending) > _PENDING:
            self._flush()


def _jumps(frame: pl.DataFrame, files: Mapping[int, PerflogFile]) -> Iterator[Located]:
    """Where a line is much older than one above it in its file."""
    sources = frame["source"].to_numpy()
    lines = frame["line"].to_numpy()
    seconds = frame["time"].dt.epoch("us").to_numpy() / 1e6
    bounds = [0, *(np.flatnonzero(np.diff(sources)) + 1), len(sources)]
    for begin, end in pairwise(bounds):
        if begin < end:
            source = int(sources[begin])
            for problem in files[source].jumps(lines[begin:end], seconds[begin:end]):
                yield source, problem


def _other_units(frame: pl.DataFrame, new: pl.DataFrame, known: pl.DataFrame) -> list[Located]:
    same = [name for name in KEY if name != "unit"]
    other = new.join(known, on=same, nulls_equal=True, suffix="_known").filter(
        (pl.col("unit") != pl.col("unit_known")) & (pl.col("series_id_known") < pl.col("series_id"))
    )
    if other.is_empty():
        return []
    lines = frame.join(other, on=list(KEY), nulls_equal=True).sort(_PLACE)
    return [
        (
            row["source"],
            Problem(
                Kind.UNITS,
                *(row["line"], row["line"]),
                f"expected the unit {row['unit_known']!r} as before for {row['check']} "
                f"{row['benchmark']} {row['metric']}, found {row['unit']!r}",
            ),
        )
        for row in lines.unique(_PLACE, maintain_order=True).iter_rows(named=True)
    ]


def _damaged(line: int, detail: str) -> Problem:
    return Problem(Kind.DAMAGED, line, line, detail)


def _future(line: int, time: datetime, limit: datetime) -> Problem:
    detail = f"expected a time until {limit:%Y-%m-%d %H:%M}, found {time:%Y-%m-%d %H:%M}"
    return Problem(Kind.FUTURE, line, line, detail, (time - FUTURE).timestamp())


def _repetitions(compared: pl.DataFrame) -> Iterator[Located]:
    for row in compared.unique(_PLACE, maintain_order=True).iter_rows(named=True):
        line, value, known = row["line"], row["value"], row["value_known"]
        if value == known:
            problem = Problem(Kind.DUPLICATE, line, line, "the value stands elsewhere already")
        else:
            detail = (
                f"expected one value of job {row['job'] or '(none)'}, found {known} and {value}"
            )
            problem = Problem(Kind.SESSION, line, line, f"{detail} for the same series and time")
        yield row["source"], problem
