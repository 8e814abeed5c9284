"""The nights on disk: which were completed, which are missing, and which are old.

``reports/nights/<begin>/`` is a night. It is complete when it has ``night.json``, which is written
last; one without was killed.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import msgspec

from fabricheck.report.files import write_whole

LATEST: Final = "latest"
COVERAGE: Final = "coverage"
"""The step that says when each node was measured; its output is JSON of that name."""
STEPS: Final = "steps.log"

GOOD: Final[Mapping[str, tuple[int, ...]]] = {
    "run": (0, 1),
    "history": (0,),
    "trend": (0, 1),
    "coverage": (0, 1),
    "page": (0, 1),
}
"""The steps, and the exit codes with which each has done its work; 1 is a verdict of some."""

_NAME: Final = "%Y%m%dT%H%M%SZ"
_COMPLETE: Final = "night.json"
_LATE: Final = 1.5
"""After so many intervals without a completed night, one is missing."""
_SKEW: Final = timedelta(minutes=5)
"""What clocks of two machines may differ before a night is dated in the future."""


def failed_steps(codes: Mapping[str, object]) -> list[str]:
    """The steps that could not do their work, or are missing; without a session some may be."""
    return [step for step, good in GOOD.items() if codes.get(step, _ABSENT.get(step)) not in good]


_ABSENT: Final = {"page": 0, "coverage": 0}


@dataclass(frozen=True, slots=True)
class Night:
    """A night that was begun.

    Attributes:
        directory: what it left behind.
        began: when.
        complete: whether it came to its end.
        failed: what of it could not be done.
        codes: exit code of each step, of a complete one.
        every: how often a night is to come, as it said.
    """

    directory: Path
    began: datetime
    complete: bool
    failed: list[str] = field(default_factory=list)
    codes: Mapping[str, int] = field(default_factory=dict)
    every: timedelta = timedelta(days=1)

    @property
    def did_its_work(self) -> bool:
        """Whether it came to its end, and no step failed."""
        return self.complete and not self.failed

    def is_after(self, now: datetime) -> bool:
        """Whether it is dated in the future."""
        return self.began - now > _SKEW

    @property
    def overdue(self) -> datetime:
        """From when on the next one is missing."""
        return self.began + _LATE * self.every

    @property
    def stopped_at(self) -> str:
        """The last step that it began; empty if it began none."""
        try:
            steps = (self.directory / STEPS).read_text(errors="replace").split()
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
        """Every night that was begun; what only has such a name is none."""
        nights = []
        for directory in sorted(self.root.glob("[0-9]*Z")) if self.root.is_dir() else ():
            try:
                began = datetime.strptime(directory.name, _NAME).replace(tzinfo=UTC)
            except ValueError:
                continue
            if directory.is_dir() and not directory.is_symlink():
                nights.append(_read(directory, began))
        return nights

    def begin(self, now: datetime) -> Night:
        """A new night; the caller holds the lock.

        Raises:
            OSError: if its directory can't be made.
        """
        while os.path.lexists(directory := self.root / now.strftime(_NAME)):
            now += timedelta(seconds=1)
        directory.mkdir(parents=True)
        return Night(directory, now, complete=False)

    def complete(
        self,
        night: Night,
        codes: Mapping[str, int],
        now: datetime,
        every: timedelta = timedelta(days=1),
    ) -> None:
        """Say that a night has come to its end, and let ``latest`` lead to it.

        Args:
            night: the night.
            codes: exit code of each step.
            now: the time.
            every: how often a night is to come.
        """
        record = {
            "began": night.began.isoformat(),
            "ended": now.isoformat(),
            "every_hours": every / timedelta(hours=1),
            "codes": dict(codes),
        }
        write_whole(night.directory / _COMPLETE, json.dumps(record, indent=2) + "\n")
        link = self.root / f".{LATEST}"
        link.unlink(missing_ok=True)
        link.symlink_to(night.directory.name)
        link.replace(self.root / LATEST)

    def last_good(self, now: datetime) -> Night | None:
        """The last night that did its work; one that is dated in the future counts for nothing.

        Args:
            now: the time.
        """
        good = [night for night in self.all() if night.did_its_work and not night.is_after(now)]
        return good[-1] if good else None

    def missing(self, now: datetime, every: timedelta) -> list[str]:
        """What an operator must know of nights that did not do their work, in sentences.

        A night counts if it came to its end, no step failed, and it is not dated in the future.

        Args:
            now: the time.
            every: how often a night is to come.
        """
        nights = self.all()
        past = [night for night in nights if not night.is_after(now)]
        last = max((night.began for night in past if night.did_its_work), default=None)
        notes = []
        if last is None and nights and not any(night.complete for night in past):
            notes.append("NIGHT MISSING: none was ever completed")
        elif last is not None and now - last > _LATE * every:
            notes.append(
                f"NIGHT MISSING: the last that was completed began {last:%Y-%m-%d %H:%M} UTC; "
                f"one is expected every {every / timedelta(hours=1):g} h"
            )
        notes += [_what_happened(night) for night in past if last is None or night.began > last]
        return notes + [
            f"the night in {night.directory} is dated in the future and counts for nothing: a "
            "clock was wrong; remove it"
            for night in nights
            if night not in past
        ]

    def remove_old(self, now: datetime, keep: timedelta, most: int) -> list[OSError]:
        """Remove nights that began longer ago than ``keep``; the last complete one stays.

        Args:
            now: the time.
            keep: how long nights are kept.
            most: so many of the newest stay, whatever a clock that may be wrong says.

        Returns:
            What could not be removed, and why.
        """
        nights = self.all()
        last = max((night.began for night in nights if night.complete), default=now)
        problems = []
        for night in nights[:-most]:
            if now - night.began > keep and night.began < last and _is_ours(night.directory):
                try:
                    shutil.rmtree(night.directory)
                except OSError as error:
                    problems.append(error)
        return problems


@dataclass(frozen=True, slots=True)
class _Complete:
    """What is believed of a complete night's file."""

    codes: dict[str, Annotated[int, msgspec.Meta(ge=-255, le=255)]]
    every_hours: Annotated[float, msgspec.Meta(gt=0, lt=87600)] = 24.0


def _read(directory: Path, began: datetime) -> Night:
    path = directory / _COMPLETE
    try:
        # A pipe would be waited for, for ever.
        record = path.read_bytes() if path.is_file() or not path.exists() else b""
    except OSError:
        return Night(directory, began, complete=False)
    try:
        told = msgspec.json.decode(record, type=_Complete)
    except (ValueError, RecursionError):
        return Night(directory, began, complete=True, failed=[_COMPLETE])
    failed, every = failed_steps(told.codes), timedelta(hours=told.every_hours)
    return Night(directory, began, True, failed, told.codes, every)  # noqa: FBT003


def _what_happened(night: Night) -> str:
    when = f"{night.began:%Y-%m-%d %H:%M} UTC"
    if night.complete:
        return (
            f"NIGHT FAILED in {', '.join(night.failed)}: that of {when}; {night.directory} has "
            "its output"
        )
    return (
        f"the night of {when} did not come to its end: it was stopped in step "
        f"{night.stopped_at or 'none'}"
    )


def _is_ours(directory: Path) -> bool:
    """Whether a night made this directory: its first word is which step it begins."""
    return (directory / STEPS).is_file() or not any(directory.iterdir())
