"""The record of a run as the report sees it: frozen data, no behaviour beyond derived facts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.judge.levels import Level
from fabricheck.report.status import Status

NOT_PERFORMANCE = {
    "bound": "absurdity bound, not a performance reference",
    "ratio": "ratio taken in one run, not a performance reference",
}
"""Reference kinds that only tell plausible from absurd, with their label."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One performance variable of a case.

    ``value`` is None where the run has no finite figure. Bounds are absolute, in ``unit``, None
    where there is none; ``lower``/``upper`` are the critical ones.
    """

    variable: str
    metric: str
    statistic: str
    size: int | None
    value: float | None
    unit: str
    level: Level | None
    reference: float | None = None
    lower: float | None = None
    upper: float | None = None
    warning_lower: float | None = None
    warning_upper: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One test case: what was asked, what came of it, and the sentences that explain it.

    ``causes`` say why the case is not good, most telling first; empty when it is.
    ``prerequisites`` are the lines of node health, as the record has them.
    """

    name: str
    status: Status
    result: str
    system: str
    partition: str
    environ: str
    benchmark: str | None
    placement: str | None
    transport: str | None
    num_nodes: int | None
    num_tasks: int | None
    fixture: bool
    samples: tuple[Sample, ...]
    causes: tuple[str, ...]
    fabric_causes: tuple[str, ...]
    nodes: tuple[str, ...]
    jobid: str | None
    evidence: str | None
    reference_kind: str | None
    reference_source: str | None
    provenance: Mapping[str, str]
    output: str | None
    prerequisites: tuple[Mapping[str, Any], ...] = ()

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
class Run:
    """One ReFrame session: its cases, its failed builds, and what is wrong with the record.

    ``lacking`` says which part of the system the run could not have, and why; None: it had all.
    """

    path: Path
    uuid: str
    hostname: str
    user: str
    reframe_version: str
    command_line: str
    started: str
    ended: str
    elapsed: float | None
    cases: tuple[Case, ...]
    failed_builds: tuple[Case, ...]
    defects: tuple[str, ...]
    lacking: str | None = None

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems of the cases, sorted."""
        return tuple(sorted({case.system for case in (*self.cases, *self.failed_builds)}))

    @property
    def commits(self) -> tuple[str, ...]:
        """Commits of the suite that the cases name, sorted; empty when none does."""
        return tuple(
            sorted({c.provenance["commit"] for c in self.cases if "commit" in c.provenance})
        )

    @property
    def sessions(self) -> tuple[str, ...]:
        """Identities under which the history knows this run; empty where the record has none."""
        return tuple(
            sorted({c.provenance["session"] for c in self.cases if "session" in c.provenance})
        )
