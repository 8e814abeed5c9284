"""The record of a run as the report sees it: frozen data, no behaviour beyond derived facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fabricheck.record import entries as record
from fabricheck.record.entries import Sample
from fabricheck.record.resting import NOT_DUE
from fabricheck.record.sessions import Known
from fabricheck.report.status import Status

NOT_PERFORMANCE = {
    "bound": "absurdity bound, not a performance reference",
    "ratio": "ratio taken in one run, not a performance reference",
}
"""Reference kinds that only tell plausible from absurd, with their label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCase(record.CaseEntry):
    """One test case: the last attempt as the record has it, its status, and why.

    ``causes`` say why the case is not good, most telling first; empty when it is.
    ``disturbed_before`` says what disturbed the attempts before this one, ``critical_before`` what
    the values of those gave that were critical.
    """

    status: Status
    causes: tuple[str, ...] = ()
    disturbed_before: tuple[str, ...] = ()
    critical_before: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Short name: benchmark, environment and placement, or ReFrame's display name."""
        if self.benchmark and self.placement:
            return f"{self.benchmark} {self.environ} {self.placement}"
        return self.name if self.environ in self.name else f"{self.name} {self.environ}"

    def find(self, metric: str, statistic: str, size: int | None) -> Sample | None:
        """The sample of that metric, statistic and message size in bytes, if the case has it."""
        wanted = (metric, statistic, size)
        for sample in self.samples:
            if (sample.metric, sample.statistic, sample.size) == wanted:
                return sample
        return None


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One session: its cases, its failed builds, and what is wrong with its record.

    Attributes:
        path: where it is recorded.
        session: its identity in the record and the history.
        cases: its cases.
        failed_builds: builds that are not good.
        defects: what is wrong with the record, in sentences.
        lacking: which part of the system the run could not have, and why; empty: it had all.
        info: what ReFrame says of the session: host, user, version, command line, times.
        resting: the cases that a night within a budget left out, each with state and why.
        kind: what the session was for, such as ``night``.
        newer: what measured since, where this was not asked for by its name.
    """

    path: Path
    session: str
    cases: tuple[ReportedCase, ...]
    failed_builds: tuple[ReportedCase, ...] = ()
    defects: tuple[str, ...] = ()
    lacking: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    resting: tuple[Mapping[str, str], ...] = ()
    kind: str = record.RUN
    newer: tuple[Known, ...] = ()

    def told(self, name: str) -> str:
        """What ReFrame says of the session under a name, or that it says nothing."""
        return str(self.info.get(name, "unknown"))

    @property
    def not_due(self) -> tuple[Mapping[str, str], ...]:
        """The cases that rest as they should."""
        return tuple(each for each in self.resting if each.get("state") == NOT_DUE)

    @property
    def ran_again(self) -> tuple[ReportedCase, ...]:
        """Cases that were disturbed and ran once more."""
        return tuple(case for case in self.cases if case.disturbed_before)

    @property
    def started(self) -> str:
        """When it began, as ISO 8601 where ReFrame's form is known."""
        return _readable(self.told("time_start"))

    @property
    def began(self) -> str:
        """When it began, to the minute: in UTC, and in the time of this machine beside it."""
        try:
            time = datetime.fromisoformat(self.started).astimezone(UTC)
        except ValueError:
            return self.started
        local = time.astimezone()
        day = "" if local.date() == time.date() else f"{local:%Y-%m-%d} "
        beside = f" ({day}{local:%H:%M %Z})" if local.utcoffset() else ""
        return f"{time:%Y-%m-%d %H:%M} UTC{beside}"

    @property
    def ended(self) -> str:
        """When it ended, likewise."""
        return _readable(self.told("time_end"))

    @property
    def which(self) -> str:
        """Which session it is, and what measured since, in words."""
        words = f"{self.kind} {self.session}"
        if self.newer:
            others = f", and {len(self.newer) - 1} more" if len(self.newer) > 1 else ""
            last = self.newer[-1]
            words += f"; newer: {last} (fabricheck report --session {last.session}){others}"
        return words

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems of the cases, sorted."""
        return tuple(sorted({case.system for case in (*self.cases, *self.failed_builds)}))

    @property
    def commits(self) -> tuple[str, ...]:
        """Commits of the suite that the cases name, sorted; empty when none does."""
        return tuple(sorted({case.commit for case in self.cases if case.commit}))


def _readable(time: str) -> str:
    """ReFrame's compact time stamp as ISO 8601; anything else as it is."""
    try:
        return datetime.strptime(time, "%Y%m%dT%H%M%S%z").isoformat(" ")
    except ValueError:
        return time
