"""Values in Parquet files: numbers of their dimensions beside what differs from value to value."""

import errno
import hashlib
import io
import os
import re
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history.catalog import DIMENSIONS, Catalog, Segment
from fabricheck.history.frame import FACTS, Schema

IDENTITY: Final = ("series_id", "time", "job")
"""What says which value it is: two values with the same identity are one."""

SCHEMA: Final[Schema] = {
    **{f"{kind}_id": pl.UInt32 for kind in DIMENSIONS},
    **FACTS,
    "stored": pl.Boolean,
}
"""The columns of a segment. ``stored``: the value is from a results database, not a perflog."""

_NAME: Final = re.compile(r"([0-9a-f]{16})[0-9a-f]{16}\.parquet")
_ROW_GROUP: Final = 1 << 16
_SMALL: Final = 100_000
_MANY: Final = 24


class Segments:
    """The segments of a store, in a directory beside its catalogue."""

    def __init__(self, directory: Path, catalog: Catalog) -> None:
        self._directory = directory
        self._catalog = catalog
        self._sound: set[str] = set()

    def write(self, frame: pl.DataFrame) -> Segment:
        """Add values. They count only when the catalogue's transaction ends.

        Raises:
            FabricheckError: if they can't be written.
        """
        frame = frame.select(SCHEMA.keys()).sort(IDENTITY)
        path = self._directory / segment_name(uuid.uuid4().hex[:16])
        memory = io.BytesIO()
        frame.write_parquet(memory, compression="zstd", row_group_size=_ROW_GROUP)
        data = memory.getbuffer()
        try:
            with path.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise cannot_write(self._directory, error) from error
        times = frame["time"].to_physical()
        low, high = frame["series_id"][0], frame["series_id"][-1]
        bounds = (int(times.min()), int(times.max()), low, high)  # type: ignore[arg-type]
        segment = Segment(path.name, len(data), zlib.crc32(data), frame.height, *bounds)
        self._catalog.add_segment(segment)
        self._sound.add(path.name)
        return segment

    def scan(self, segments: Iterable[Segment] | None = None) -> pl.LazyFrame:
        """The values of some segments, or of all.

        Raises:
            FabricheckError: if one is not as it was written.
        """
        chosen = self._catalog.segments() if segments is None else tuple(segments)
        self.check(chosen)
        paths = [self._directory / segment.name for segment in chosen]
        return pl.scan_parquet(paths) if paths else pl.LazyFrame(schema=SCHEMA)

    def overlapping(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What identifies the values that may be the same as some of the frame's."""
        low, high = frame["series_id"].min(), frame["series_id"].max()
        chosen = [
            each
            for each in self.around(frame)
            if each.series_low <= high and low <= each.series_high  # type: ignore[operator]
        ]
        return (
            self.scan(chosen)
            .filter(
                pl.col("time").is_between(frame["time"].min(), frame["time"].max()),
                pl.col("series_id").is_between(low, high),
            )
            .select(*IDENTITY, "value", "stored")
            .collect()
        )

    def around(self, frame: pl.DataFrame) -> list[Segment]:
        """The segments with values of the frame's span of time."""
        if frame.is_empty():
            return []
        times = frame["time"].to_physical()
        oldest, newest = times.min(), times.max()
        return [
            each
            for each in self._catalog.segments()
            if each.oldest <= newest and oldest <= each.newest  # type: ignore[operator]
        ]

    def replace(self, segment: Segment, frame: pl.DataFrame) -> None:
        """Put values in the place of those of a segment."""
        self.write(frame)
        self._catalog.remove_segments([segment.name])

    def compact(self) -> None:
        """Put many small segments, one of each night, into one."""
        small = [each for each in self._catalog.segments() if each.rows < _SMALL]
        if len(small) > _MANY:
            self.write(self.scan(small).collect())
            self._catalog.remove_segments([each.name for each in small])

    def remove_orphans(self) -> None:
        """Remove segments that no catalogue names: a refresh was killed, or put them into others.

        Called before a refresh, not after it, so that a reader can end what it began. What has
        another name than a segment was put there by somebody else, and stays.
        """
        known = {each.name for each in self._catalog.segments()}
        for path in self._directory.iterdir():
            if is_segment(path) and path.name not in known:
                path.unlink()

    def are_whole(self) -> bool:
        """Whether every segment is as it was written."""
        return not any(map(self._fault, self._catalog.segments()))

    def check(self, segments: Iterable[Segment] | None = None) -> None:
        """See whether some segments, or all, are as they were written.

        Raises:
            FabricheckError: if one is not.
        """
        for each in self._catalog.segments() if segments is None else segments:
            if fault := self._fault(each):
                raise FabricheckError(
                    f"expected a segment of the history as it was written in "
                    f"{self._directory / each.name}, found {fault}: read the record again with "
                    f"fabricheck history refresh --store {self._directory}"
                )

    def _fault(self, segment: Segment) -> str:
        """What is wrong with a segment, in words."""
        path = self._directory / segment.name
        if segment.name in self._sound:
            return ""
        if not is_segment(path):
            return "no such file"
        try:
            data = path.read_bytes()
        except OSError as error:
            return f"a file that can't be read ({error.strerror})"
        if (len(data), zlib.crc32(data)) != (segment.size, segment.checksum):
            return "other bytes"
        self._sound.add(segment.name)
        return ""


def is_segment(path: Path) -> bool:
    """Whether a file is a segment, by its name; a link is none."""
    match = _NAME.fullmatch(path.name)
    if not match or path.name != segment_name(match[1]):
        return False
    return path.is_file() and not path.is_symlink()


def segment_name(random: str) -> str:
    """A name that nobody else gives to a file: its second half follows from the first."""
    return f"{random}{hashlib.blake2s(random.encode(), digest_size=8).hexdigest()}.parquet"


class Numbering:
    """The numbers of one dimension's combinations; new ones get the next."""

    def __init__(self, kind: str, catalog: Catalog) -> None:
        self.known = catalog.dimension(kind)
        self._kind = kind
        self._column = f"{kind}_id"
        self._fields = tuple(DIMENSIONS[kind])
        self._catalog = catalog

    def number(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The frame with the numbers in place of the fields, and what it has for the first time."""
        numbered = self._join(frame)
        unknown = numbered.filter(pl.col(self._column).is_null())
        new = self._add(unknown) if unknown.height else self.known.clear()
        if unknown.height:
            numbered = self._join(frame)
        return numbered.drop(self._fields), new

    def _add(self, unknown: pl.DataFrame) -> pl.DataFrame:
        first = self.known.height
        new = unknown.select(self._fields).unique(maintain_order=True)
        numbers = pl.int_range(first, first + pl.len(), dtype=pl.UInt32).alias(self._column)
        new = new.select(numbers, *self._fields)
        self._catalog.add_to_dimension(self._kind, new.rows())
        self.known = pl.concat([self.known, new])
        return new

    def _join(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.join(
            self.known, on=self._fields, how="left", nulls_equal=True, maintain_order="left"
        )


def cannot_write(directory: Path, error: OSError) -> FabricheckError:
    """What to say where the store can't be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "make room there" if full else "give write permission"
    return FabricheckError(
        f"expected a place for the history that can be written at {directory}, found: "
        f"{error.strerror or error}: {advice}, or name another place with --store; nothing was "
        "changed"
    )
