"""The nights on disk: which were completed, which are missing, and which are old.

``reports/nights/<begin>/`` is a night. It is complete when it has ``night.json``, which is written
last; one without was killed.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.report.files import write_whole

LATEST: Final = "latest"
STEPS: Final = "steps.log"

_NAME: Final = "%Y%m%dT%H%M%SZ"
_COMPLETE: Final = "night.json"
_LATE: Final = 1.5
"""After so many intervals without a completed night, one is missing."""


@dataclass(frozen=True, slots=True)
class Night:
    """A night that was begun.

    Attributes:
        directory: what it left behind.
        began: when.
        complete: whether it came to its end.
    """

    directory: Path
    began: datetime
    complete: bool

    @property
    def stopped_at(self) -> str:
        """The last step that it began; empty if it began none."""
        try:
            steps = (self.directory / STEPS).read_text().split()
        except OSError:
            return ""
        return steps[-1] if steps else ""


class Nights:
    """The nights of a suite, oldest first.

    Args:
        root: their directory; it need not be there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def all(self) -> list[Night]:
        """Every night that was begun."""
        nights = []
        for directory in sorted(self.root.glob("[0-9]*Z")) if self.root.is_dir() else ():
            try:
                began = datetime.strptime(directory.name, _NAME).replace(tzinfo=UTC)
            except ValueError:
                continue
            nights.append(Night(directory, began, (directory / _COMPLETE).exists()))
        return nights

    def begin(self, now: datetime) -> Night:
        """A new night; the caller holds the lock.

        Raises:
            FabricheckError: if its directory can't be made.
        """
        while (directory := self.root / now.strftime(_NAME)).exists():
            now += timedelta(seconds=1)
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise FabricheckError(
                f"expected a place for the night at {directory}, found: {error.strerror}: make "
                "room or give write permission"
            ) from error
        return Night(directory, now, complete=False)

    def complete(self, night: Night, codes: Mapping[str, int], now: datetime) -> None:
        """Say that a night has come to its end, and let ``latest`` lead to it.

        Args:
            night: the night.
            codes: exit code of each step.
            now: the time.
        """
        record = {"began": night.began.isoformat(), "ended": now.isoformat(), "codes": dict(codes)}
        write_whole(night.directory / _COMPLETE, json.dumps(record, indent=2) + "\n")
        link = self.root / f".{LATEST}"
        link.unlink(missing_ok=True)
        link.symlink_to(night.directory.name)
        link.replace(self.root / LATEST)

    def missing(self, now: datetime, every: timedelta) -> list[str]:
        """What an operator must know of nights that did not come to their end, in sentences.

        Args:
            now: the time.
            every: how often a night is to come.
        """
        nights = self.all()
        complete = [night for night in nights if night.complete]
        last = complete[-1].began if complete else None
        notes = []
        if last is None and nights:
            notes.append("NIGHT MISSING: none was ever completed")
        elif last is not None and now - last > _LATE * every:
            notes.append(
                f"NIGHT MISSING: the last that was completed began {last:%Y-%m-%d %H:%M} UTC; "
                f"one is expected every {every / timedelta(hours=1):g} h"
            )
        return notes + [
            f"the night of {night.began:%Y-%m-%d %H:%M} UTC did not come to its end: it was "
            f"stopped in step {night.stopped_at or 'none'}"
            for night in nights
            if not night.complete and (last is None or night.began > last)
        ]

    def remove_old(self, now: datetime, keep: timedelta) -> None:
        """Remove nights that began longer ago than ``keep``; the last complete one stays."""
        nights = self.all()
        last = max((night.began for night in nights if night.complete), default=now)
        for night in nights:
            if now - night.began > keep and night.began < last:
                shutil.rmtree(night.directory)
