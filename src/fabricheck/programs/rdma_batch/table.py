"""Strict reading of MORI-IO's tables.

A table has a title (``Initiator Rank 7``), one of two sets of columns, and a rule above and below
each part. The program prints one for each initiator, and one of all together where there are
several. A MB is 10^6 bytes, a GB 10^9.

Each row states its total, both bandwidths and both latencies, which depend on each other: total =
size x batch, bandwidth = total / latency. A row for which that does not hold, within the last digit
of each figure, is damaged.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from fabricheck.errors import ParseError
from fabricheck.measures.parser import Rows, half_digit

PROGRAM: Final = "rdma_batch"

_CONFIGURATION = re.compile(r"^MORI-IO Benchmark Configurations:$")
_SETTING = re.compile(r"^  (?P<key>[a-z_]+): (?P<value>\S.*)$")
_RULE = re.compile(r"^\+-+(?:\+-+)*\+$")
_TITLE = re.compile(r"^\| +(?P<title>Initiator Rank \d{1,4}|Aggregate of \d{1,4} Initiators) +\|$")
_INITIATOR = "Initiator Rank"
WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)

_SIZE, _BATCH, _TOTAL = "MsgSize (B)", "BatchSize", "TotalSize (MB)"
_MAX_BW, _AVG_BW = "Max BW (GB/s)", "Avg Bw (GB/s)"
_MIN_LAT, _AVG_LAT = "Min Lat (us)", "Avg Lat (us)"
_SHORT = (_SIZE, _TOTAL, _MAX_BW, _AVG_BW, _MIN_LAT, _AVG_LAT)
_SEED = (_SIZE, _BATCH, *_SHORT[1:])

_MEGA = 1_000_000
# MORI-IO rounds each figure on its own, and from times that it keeps as 32-bit floats.
_ROUNDING = 1.001


@dataclass(frozen=True, slots=True)
class TransferRow:
    """One row: so many transfers of so many bytes, again and again.

    Attributes:
        size: bytes of one transfer.
        batch: transfers of a batch.
        latency: time of a whole batch in us, by statistic.
        bandwidth: in MB/s, by statistic; of MORI-IO's tables computed from total and time, which
            have more digits than the figures printed.
        iterations: batches that were timed, ``None`` where that is not said.
    """

    size: int
    batch: int
    latency: Mapping[str, float]
    bandwidth: Mapping[str, float]
    iterations: int | None

    @property
    def total(self) -> int:
        """Bytes of a whole batch."""
        return self.size * self.batch


@dataclass(frozen=True, slots=True)
class Output:
    """What one run printed.

    Attributes:
        version: of ``rdma_batch``; empty for MORI-IO's own output.
        settings: the configuration, as printed; empty where there is none.
        tables: the rows of each initiator.
    """

    version: str
    settings: Mapping[str, str]
    tables: tuple[tuple[TransferRow, ...], ...]


def is_output(text: str) -> bool:
    """Whether a text is meant to be what an initiator printed."""
    lines = text.split("\n")
    return any(_TITLE.match(line) or _CONFIGURATION.match(line) for line in lines)


def read(text: str, source: str) -> Output:
    """The configuration and the tables of the initiators.

    Args:
        text: the whole output of the run.
        source: what to call it in messages.

    Raises:
        ParseError: if there is no table, or one that is empty, damaged or cut, if the tables are
            not of the same sweep, or if a row breaks an identity.
    """
    reader = _Reader([line.rstrip() for line in text.split("\n")], source)
    settings = reader.configuration()
    titles = reader.titles()
    batch = settings.get("transfer_batch_size", "")
    tables = tuple(
        tuple(reader.table(number, batch))
        for number, title in titles.items()
        if title.startswith(_INITIATOR)
    )
    if not tables:
        raise ParseError(
            f"FC1232 {source}: expected a table of {PROGRAM}, found no title such as 'Initiator "
            "Rank 0': the program ended before it, or its output went elsewhere"
        )
    check_sweeps(tables, source, doubling=True)
    return Output("", settings, tables)


def check_sweeps(tables: Sequence[Sequence[TransferRow]], source: str, *, doubling: bool) -> None:
    """All tables have the same rows, whose sizes or batches rise, by doubling; the other stays.

    Raises:
        ParseError: if it is not so.
    """
    sweeps = {tuple((row.size, row.batch) for row in table) for table in tables}
    if len(sweeps) != 1:
        raise ParseError(
            f"FC1233 {source}: expected the same sizes and batches of all {len(tables)} "
            f"initiators, found {len(sweeps)} different sweeps: a table is cut, or outputs are put "
            "together"
        )
    for before, row in pairwise(tables[0]):
        stays = (row.size == before.size) != (row.batch == before.batch)
        if not stays or row.total <= before.total or (doubling and row.total != 2 * before.total):
            raise ParseError(
                f"FC1234 {source}: expected {'twice the' if doubling else 'a greater'} size or "
                f"batch after {before.size} B x {before.batch}, found {row.size} B x {row.batch}: "
                "rows are missing, repeated or out of order"
            )


class _Reader(Rows):
    """The lines of one run; numbers count from 1."""

    def __init__(self, lines: list[str], source: str) -> None:
        super().__init__(source)
        self._lines = lines

    def configuration(self) -> dict[str, str]:
        """The settings of the program; none where there is no such block."""
        starts = [n for n, line in enumerate(self._lines, start=1) if _CONFIGURATION.match(line)]
        if not starts:
            return {}
        if len(starts) > 1:
            raise self._error(starts[1], "expected one run, found a second configuration")
        settings = {}
        for line in self._lines[starts[0] :]:
            setting = _SETTING.match(line)
            if not setting:
                break
            settings[setting["key"]] = setting["value"]
        return settings

    def titles(self) -> dict[int, str]:
        """Line numbers and titles of all tables."""
        found: dict[int, str] = {}
        for number, line in enumerate(self._lines, start=1):
            if match := _TITLE.match(line):
                if match["title"] in found.values():
                    raise self._error(
                        number,
                        f"expected one table {match['title']!r}, found a second: outputs are mixed",
                    )
                found[number] = match["title"]
        return found

    def table(self, title: int, batch: str) -> Iterator[TransferRow]:
        """The rows of the table whose title stands on that line."""
        columns = self._columns(title, batch)
        number = title + 4
        while not _RULE.match(self._line(number)):
            yield self._row(number, columns, batch)
            number += 1
        if number == title + 4:
            raise self._error(number, "expected rows below the column names, found none")

    def _columns(self, title: int, batch: str) -> Sequence[str]:
        for number in (title - 1, title + 1, title + 3):
            if not _RULE.match(self._line(number)):
                raise self._error(number, f"expected a rule, found {self._line(number)!r}")
        names = tuple(self._cells(title + 2))
        if names not in (_SHORT, _SEED):
            raise self._error(
                title + 2, f"expected the columns of {PROGRAM}, found {', '.join(names)}"
            )
        if _BATCH not in names and not batch:
            raise self._error(
                title + 2,
                f"expected a column {_BATCH}, or transfer_batch_size in the configuration above",
            )
        return names

    def _row(self, number: int, columns: Sequence[str], batch: str) -> TransferRow:
        words = self._cells(number)
        if len(words) != len(columns):
            raise self._error(
                number, f"expected {len(columns)} cells, found {len(words)}: the table is cut"
            )
        cells = dict(zip(columns, words, strict=True))
        size = self._whole(number, _SIZE, cells[_SIZE], least=1)
        many = self._whole(number, _BATCH, cells.get(_BATCH, batch), least=1)
        values = {
            name: self._value(number, name, cells[name])
            for name in columns
            if name not in (_SIZE, _BATCH)
        }
        self._check_identities(number, size * many, values, cells)
        latency = {"min": values[_MIN_LAT], "avg": values[_AVG_LAT]}
        return TransferRow(
            size=size,
            batch=many,
            latency=latency,
            bandwidth={"max": size * many / latency["min"], "avg": size * many / latency["avg"]},
            iterations=None,
        )

    def _check_identities(
        self, number: int, total: int, values: Mapping[str, float], cells: Mapping[str, str]
    ) -> None:
        expected = {_TOTAL: (total / _MEGA, 0.0)}
        for bandwidth, latency in ((_MAX_BW, _MIN_LAT), (_AVG_BW, _AVG_LAT)):
            if values[latency] <= 0:
                raise self._error(number, f"expected {latency} above zero, found {cells[latency]}")
            value = total / values[latency] / 1000
            expected[bandwidth] = value, value * half_digit(cells[latency]) / values[latency]
        for name, (value, doubt) in expected.items():
            if abs(values[name] - value) > (half_digit(cells[name]) + doubt) * _ROUNDING:
                raise self._error(
                    number,
                    f"expected {name} {value:.4g} from size, batch and latency, found "
                    f"{cells[name]}: the row is damaged, or the program miscounts",
                )
        if values[_MIN_LAT] > values[_AVG_LAT]:
            raise self._error(
                number,
                f"expected {_MIN_LAT} up to {_AVG_LAT}, found {cells[_MIN_LAT]} and "
                f"{cells[_AVG_LAT]}: the row is damaged",
            )

    def _cells(self, number: int) -> list[str]:
        line = self._line(number)
        if not (line.startswith("|") and line.endswith("|") and len(line) > 1):
            raise self._error(
                number, f"expected a row of the table, found {line[:120]!r}: the table is cut"
            )
        return [cell.strip() for cell in line[1:-1].split("|")]

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if 1 <= number <= len(self._lines) else ""
