"""Steps that somebody has accepted: they aren't raised again.

One file for each system, ``references/<system>.accepted.yaml``: a list of records.

    - date: 2026-11-20
      series: {partition: rdma, transport: rc, benchmark: [latency, bw]}
      by: Ada
      signed: 2026-11-23
      why: Firmware 28.39 moves small messages to another path.

``date`` is the first night at the new level. ``series`` names fields of a series and their values;
fields that are not named fit all, and ``{}`` fits every series of the system.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from fabricheck.documents import load
from fabricheck.errors import FabricheckError
from fabricheck.history.series import SeriesKey

SUFFIX = ".accepted.yaml"

_KEYS = ("date", "series", "by", "signed", "why")
_FIELDS = frozenset(field.name for field in fields(SeriesKey)) - {"system"}


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A step that is as it should be.

    Attributes:
        system: the system whose series they are.
        date: the first night at the new level.
        series: for fields of a series the values that fit.
        by: who accepted it.
        signed: when.
        why: the reason.
    """

    system: str
    date: datetime.date
    series: Mapping[str, tuple[str | int | None, ...]]
    by: str
    signed: datetime.date
    why: str

    def fits(self, key: SeriesKey) -> bool:
        """Whether the step of a series is meant."""
        return key.system == self.system and all(
            getattr(key, name) in values for name, values in self.series.items()
        )

    @property
    def begins(self) -> np.datetime64:
        """The begin of the first night at the new level."""
        return np.datetime64(self.date, "s")


def read_accepted(references: Path) -> list[Acceptance]:
    """The acceptances of every system that has some.

    Args:
        references: directory of the files.

    Raises:
        FabricheckError: for a file that is not YAML, or a record that is not as described above.
    """
    found: list[Acceptance] = []
    for path in sorted(references.glob(f"*{SUFFIX}")):
        records = load(path, "acceptances", "docs/detection.md").value
        if not isinstance(records, list):
            raise FabricheckError(
                f"expected a list of acceptances in {path}, found {type(records).__name__}: "
                "see docs/detection.md"
            )
        system = path.name.removesuffix(SUFFIX)
        for number, record in enumerate(records, start=1):
            found.append(_acceptance(system, record, f"{path}, record {number}"))
    return found


def _acceptance(system: str, record: object, where: str) -> Acceptance:
    if not isinstance(record, dict) or set(record) != set(_KEYS):
        keys = ", ".join(map(str, record)) if isinstance(record, dict) else repr(record)
        raise FabricheckError(f"{where}: expected the keys {', '.join(_KEYS)}, found {keys}")
    for name in ("date", "signed"):
        if type(record[name]) is not datetime.date:
            raise FabricheckError(
                f"{where}: expected a day such as 2026-11-20 as {name}, found {record[name]!r}"
            )
    for name in ("by", "why"):
        if not isinstance(record[name], str) or not record[name].strip():
            raise FabricheckError(f"{where}: expected text as {name}, found {record[name]!r}")
    return Acceptance(
        system,
        record["date"],
        _series(record["series"], where),
        record["by"],
        record["signed"],
        record["why"],
    )


def _series(given: object, where: str) -> dict[str, tuple[str | int | None, ...]]:
    if not isinstance(given, dict) or not set(given) <= _FIELDS:
        raise FabricheckError(
            f"{where}: expected fields of {', '.join(sorted(_FIELDS))} under series, "
            f"found {given!r}"
        )
    return {
        name: tuple(values) if isinstance(values, list) else (values,)
        for name, values in given.items()
    }
