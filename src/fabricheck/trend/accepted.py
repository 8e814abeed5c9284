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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fabricheck.documents import load, schema
from fabricheck.history.series import SeriesKey

SUFFIX = ".accepted.yaml"


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


def read_accepted(references: Iterable[Path]) -> list[Acceptance]:
    """The acceptances of every system that has some.

    Args:
        references: directories of the files.

    Raises:
        FabricheckError: for a file that is not as described above.
    """
    found: list[Acceptance] = []
    for path in [path for each in references for path in sorted(each.glob(f"*{SUFFIX}"))]:
        document = load(path, "acceptances", "docs/explanation/detection.md")
        document.check(schema("fabricheck.trend", "accepted.schema.json"))
        system = path.name.removesuffix(SUFFIX)
        found += [
            Acceptance(system, **{**record, "series": _series(record["series"])})
            for record in document.value
        ]
    return found


def _series(given: Mapping[str, Any]) -> dict[str, tuple[str | int | None, ...]]:
    return {
        name: tuple(values) if isinstance(values, list) else (values,)
        for name, values in given.items()
    }
