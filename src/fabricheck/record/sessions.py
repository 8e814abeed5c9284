"""Which session of the record people ask for: the last night; where there is none, the last run.

An hour of a stress and a session that only built are neither.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import NIGHT, RUN, CaseEntry, Entry, Session
from fabricheck.record.read import entries, record_files, shown

STRESS: Final = "Stress"
"""The check of an hour of a stress."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a session without reading all of it.

    Attributes:
        session: its identity.
        system: its system.
        time: of the last that the record has of it.
        kind: what it was for; ``RUN`` where it has no end, which alone tells.
        cases: how many it recorded, without builds; one that ran again counts once.
        ended: whether the record has its end, as it has of all but those who started ReFrame by
            hand, were killed, or run.
    """

    session: str
    system: str
    time: str = ""
    kind: str = RUN
    cases: int = 0
    ended: bool = False

    def __str__(self) -> str:
        until = self.time[:16].replace("T", " ")
        plural = "" if self.cases == 1 else "s"
        return f"{self.kind} of {self.cases} case{plural} on {self.system} until {until} UTC"

    def and_of(self, entry: Entry) -> "Known":
        """The same, with one more entry."""
        found = replace(self, time=max(self.time, entry.time))
        if isinstance(entry, Session):
            return replace(found, kind=entry.kind, ended=True)
        if not isinstance(entry, CaseEntry) or entry.fixture or entry.attempt > 1:
            return found
        kind = STRESS if entry.check == STRESS else self.kind
        return replace(found, kind=kind, cases=self.cases + 1)


def last(perflogs: Path, kind: str = "", system: str = "", name: str = "") -> Session | None:
    """The newest session of a kind that came to its end; None if there is none.

    Only the lines of sessions are read, which stand above the partitions, the newest month first.

    Args:
        perflogs: directory of the record.
        kind: of ``fabricheck.record.entries``; any, if empty.
        name: only the session of this name; any, if empty.
        system: only of this system; all, if empty.

    Raises:
        FabricheckError: if the record can't be read.
    """
    for _, paths in _months(perflogs) if perflogs.exists() else ():
        found = [
            each
            for each in _ends(perflogs, paths)
            if kind in ("", each.kind) and system in ("", each.system)
            if name in ("", each.session)
        ]
        if found:
            return max(found, key=lambda each: each.time)
    return None


def asked_for(perflogs: Path, system: str = "") -> tuple[Known, list[Known]]:
    """The session that is asked for where none is named, and what measured since.

    It is the last night. Where there was none, it is the last run; without that, whatever
    measured last.

    Args:
        perflogs: directory of the record.
        system: only of this system; all, if empty.

    Raises:
        FabricheckError: if the record holds no such session, or can't be read.
    """
    night = last(perflogs, NIGHT, system)
    sessions: dict[str, Known] = {}
    measured: list[Known] = []
    for month, paths in _months(perflogs):
        for entry in (entry for path in paths for entry in entries(path)[0]):
            if system in ("", entry.system):
                session = sessions.get(entry.session, Known(entry.session, entry.system))
                sessions[entry.session] = session.and_of(entry)
        measured = [e for e in sessions.values() if (e.cases or e.ended) and e.kind != STRESS]
        if month <= night.time[:7] if night else any(each.kind == RUN for each in measured):
            break
    if not measured:
        raise FabricheckError(
            f"FC0618 expected a session{' of ' * bool(system)}{system} in the record "
            f"{shown(perflogs)}, found none that measured more than a stress: run the checks first"
        )
    chosen = (
        sessions[night.session]
        if night
        else max(measured, key=lambda each: (each.kind == RUN, each.time))
    )
    newer = [each for each in measured if each.time > chosen.time]
    return chosen, sorted(newer, key=lambda each: each.time)


def _months(perflogs: Path) -> Iterator[tuple[str, list[Path]]]:
    """The record's files by their month, the newest first; what was imported has none."""
    files = [path for path in record_files(perflogs) if not path.name.startswith("imported")]
    for month in sorted({path.name[:7] for path in files}, reverse=True):
        yield month, [path for path in files if path.name.startswith(month)]


def ended(perflogs: Path) -> list[Session]:
    """All sessions that came to their end, oldest first.

    Raises:
        FabricheckError: if the record can't be read.
    """
    months = _months(perflogs) if perflogs.exists() else ()
    found = [each for _, paths in months for each in _ends(perflogs, paths)]
    return sorted(found, key=lambda each: each.time)


def _ends(perflogs: Path, paths: list[Path]) -> list[Session]:
    """The sessions in those of some files that stand above the partitions."""
    above = [path for path in paths if perflogs in (path, path.parent.parent)]
    return [each for path in above for each in entries(path)[0] if isinstance(each, Session)]
