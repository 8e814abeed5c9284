"""Reading one file of the record from where it was left."""

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from fabricheck.history.layout import Layout, NoLayout, recognize
from fabricheck.history.lines import Block, CutStreamError, blocks, chunks, first_line
from fabricheck.history.problems import Kind, Problem
from fabricheck.history.provenance import Origin, read_line
from fabricheck.history.sources import HEAD, Source, Stamp, oddity, shown

JUMP: Final = timedelta(days=1)
"""A line so much older than one above it says that the clock went back: lines are appended."""


class RecordFile:
    """A file of whole lines that is being read from where it was left."""

    def __init__(self, source: Source, path: Path) -> None:
        self.path = path
        self.number = source.number
        self.lines = source.lines
        self.cut: Problem | None = None
        self._source = source
        self._offset = source.offset
        self._checksum = source.checksum
        self._newest = source.newest
        self._head = source.head
        self._seen = source.offset

    def blocks(self) -> Iterator[Block]:
        """The lines that are new, block by block."""
        if odd := oddity(self.path):
            self.cut = Problem(Kind.UNREAD, 0, 0, f"expected a file, found {odd}")
            return
        try:
            for block in blocks(self._counted(), self.lines + 1):
                data = block.data
                if self._offset < HEAD:
                    self._head = zlib.crc32(data[: HEAD - self._offset], self._head)
                self._offset += len(data)
                self._checksum = zlib.crc32(data, self._checksum)
                self.lines = block.first_line + block.lines - 1
                yield block
        except CutStreamError as error:
            self._cut(str(error), Kind.LOST)
        if self._seen > self._offset:
            self._cut("expected a newline at its end, found none")

    def _counted(self) -> Iterator[bytes]:
        for data in chunks(self.path, self._source.offset):
            self._seen += len(data)
            yield data

    def _cut(self, detail: str, kind: Kind = Kind.CUT) -> None:
        self.cut = self.cut or Problem(kind, self.lines + 1, self.lines + 1, detail)

    def state(self, path: Path, stamp: Stamp) -> Source:
        """How far it was read."""
        return Source(
            number=self.number,
            path=path,
            stamp=stamp,
            offset=self._offset,
            lines=self.lines,
            checksum=self._checksum,
            head=self._head,
            newest=self._newest,
        )


class PerflogFile(RecordFile):
    """A perflog."""

    def parts(self) -> Iterator[tuple[Layout | NoLayout, Block]]:
        """The new lines below the header, block by block, and how they are to be read."""
        begun = self._source.offset > 0
        name = Path(shown(self.path))
        layout = recognize(first_line(self.path), name) if begun else None
        for block in self.blocks():
            rest = block
            if layout is None:
                header, below = block.behead()
                layout = recognize(header, name)
                rest = below if layout.headed else block
            if rest.lines:
                yield layout, rest

    def jumps(
        self, lines: npt.NDArray[np.uint32], seconds: npt.NDArray[np.float64]
    ) -> list[Problem]:
        """Where a line is much older than one above it.

        Args:
            lines: numbers of lines, in their order.
            seconds: their times, since 1970.
        """
        newest = np.maximum(np.maximum.accumulate(seconds), self._newest)
        self._newest = float(newest[-1])
        back = np.flatnonzero(newest - seconds > JUMP.total_seconds())
        found = {int(lines[place]): place for place in reversed(back)}
        return [
            Problem(
                Kind.CLOCK,
                *(line, line),
                f"expected no line older than those above it, found {_day(seconds[place])} below "
                f"{_day(newest[place])}",
            )
            for line, place in found.items()
        ]


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


class ProvenanceFile(RecordFile):
    """A file of provenance."""

    def origins(self) -> Iterator[tuple[list[tuple[int, Origin]], list[Problem]]]:
        """The records of each block of lines with their numbers, and the damaged lines."""
        for block in self.blocks():
            found, problems = [], []
            for number, line in enumerate(block.data.split(b"\n")[:-1], start=block.first_line):
                try:
                    found.append((number, read_line(line.decode())))
                except (UnicodeDecodeError, UnicodeEncodeError) as error:
                    detail = f"expected text, found: {error.reason}"
                    problems.append(Problem(Kind.DAMAGED, number, number, detail))
                except ValueError as error:
                    problems.append(Problem(Kind.DAMAGED, number, number, str(error)))
            yield found, problems
