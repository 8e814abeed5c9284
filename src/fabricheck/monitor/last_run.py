"""The last run and the last nights as samples; the one place that knows where they are recorded."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.measures.metrics import Metric
from fabricheck.monitor.catalog import FAMILIES, Sample, Source, sample
from fabricheck.record.entries import NIGHT, CaseEntry, Session
from fabricheck.record.entries import Sample as Measured
from fabricheck.record.sessions import last
from fabricheck.report.load import load, sane
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import summarise
from fabricheck.runner.nights import COVERAGE, Nights

SIZES = (8, 64 << 10, 1 << 20, 4 << 20)
"""Message sizes in bytes whose values are served."""

_POINTS: Mapping[tuple[str, str], tuple[str, str, float]] = {
    (Metric.LATENCY, "p50"): ("fabricheck_case_latency_seconds", "us", 1e-6),
    (Metric.LATENCY, "p99"): ("fabricheck_case_latency_seconds", "us", 1e-6),
    (Metric.BANDWIDTH, "avg"): ("fabricheck_case_bandwidth_bytes_per_second", "MB/s", 1e6),
}


_LONG = 8 * 86400.0
"""Seconds; a system whose last night is so much older than the newest has no nights any more."""


class LastRun:
    """Reads the newest session of the record that came to its end, whatever it is of.

    Args:
        perflogs: the suite's record.
    """

    name = Source.RUN

    def __init__(self, perflogs: Path) -> None:
        self._perflogs = perflogs

    def sessions(self) -> Sequence[str]:
        """Which session that is.

        Raises:
            FabricheckError: if there is none, or the record is damaged.
        """
        newest = last(self._perflogs)
        if newest is None:
            raise FabricheckError(
                f"FC2201 expected a session that came to its end in the record {self._perflogs}, "
                "found none: run the checks first"
            )
        return [newest.session]

    def read(self) -> Iterator[Sample]:
        """What may be said of it now.

        Raises:
            FabricheckError: if there is none, or it is damaged.
            OSError: if it can't be read now.
        """
        return iter(of_sessions(self._perflogs, self.sessions())[self.name])


class LastNight:
    """Reads the last night of each system from the record, and what became of its cases.

    Before the first night, the cases are those of the newest run.

    Args:
        reports: the suite's directory of reports.
        perflogs: its record.
    """

    name = Source.NIGHT

    def __init__(self, reports: Path, perflogs: Path) -> None:
        self._reports = reports
        self._perflogs = perflogs
        self._seen: object = None
        self._last: Sequence[Session] = ()

    def sessions(self) -> Sequence[str]:
        """Which sessions these are.

        Raises:
            FabricheckError: if a night came to its end and the record does not have it, or it is
                damaged.
        """
        nights = self._nights()
        self._refuse_older(max((_unix(each.time) for each in nights), default=0))
        runs = [] if nights else [each for each in [last(self._perflogs)] if each]
        return [each.session for each in nights or runs]

    def read(self) -> Iterator[Sample]:
        """What may be said of them now.

        Raises:
            FabricheckError: as `sessions`.
            OSError: if it can't be read now.
        """
        return iter(of_sessions(self._perflogs, self.sessions())[self.name])

    def _nights(self) -> Sequence[Session]:
        """The last night of each system, but of those that have had none for long."""
        files = sorted(self._perflogs.glob("*/*.jsonl"))
        seen = [
            (path, status.st_mtime_ns, status.st_size) for path in files if (status := path.stat())
        ]
        if seen != self._seen:
            systems = sorted({path.parent.name for path in files})
            found = [last(self._perflogs, NIGHT, system) for system in systems]
            newest = max((_unix(each.time) for each in found if each), default=0)
            self._last = [each for each in found if each and newest - _unix(each.time) < _LONG]
            self._seen = seen
        return self._last

    def _refuse_older(self, ended: float) -> None:
        now = datetime.now(UTC)
        for night in Nights(self._reports / "nights").all():
            if night.complete and ended < night.began.timestamp() and night.began <= now:
                raise FabricheckError(
                    f"FC2202 expected the night of {night.began:%Y-%m-%d %H:%M} UTC in the record "
                    f"{self._perflogs}, found none that ended since: look at {night.directory}"
                )


class Schedule:
    """Reads when nights came and are to come; no run report and no record.

    Args:
        reports: the suite's directory of reports.
    """

    name = Source.SCHEDULE

    def __init__(self, reports: Path) -> None:
        self._nights = Nights(reports / "nights")

    def read(self) -> Iterator[Sample]:
        """What may be said of them now."""
        return of_nights(self._nights, datetime.now(UTC))


def of_sessions(perflogs: Path, sessions: Iterable[str]) -> Mapping[Source, Sequence[Sample]]:
    """What each source says of these sessions."""
    found: dict[Source, list[Sample]] = {Source.RUN: [], Source.NIGHT: []}
    for session in sessions:
        run = load(perflogs, session, keep=_slim)
        for each in of_run(run):
            found[each.family.source].append(each)
            name = OF_NIGHT.get(each.family.name)
            if name and run.kind == NIGHT:
                found[Source.NIGHT].append(each._replace(family=FAMILIES[name]))
    return found


def _slim(case: CaseEntry) -> CaseEntry:
    """The case with the values that are served or decide its status, and no others."""
    kept: list[Measured] = []
    seen = set()
    greatest: tuple[float, Measured] | None = None
    for each in map(sane, case.samples):
        share = _share(each)
        if share is not None and (greatest is None or share > greatest[0]):
            greatest = share, each
        kind = each.level, each.value is None
        if kind not in seen or point_of(each.metric, each.statistic, each.size, each.unit):
            kept.append(each)
        seen.add(kind)
    if greatest and greatest[1] not in kept:
        kept.append(greatest[1])
    return replace(case, samples=tuple(kept), findings=case.findings[:1], evidence="", output="")


def of_run(run: ReportedRun) -> Iterator[Sample]:
    """Verdict, counts, and what became of each case."""
    summary = summarise(run)
    systems = run.systems or ("none",)
    yield from sample("mpi_benchmark_success", summary.passed)
    ended = _unix(run.ended)
    if ended:
        yield from sample("mpi_benchmark_last_run_timestamp", ended)
    for system in systems:
        yield from sample("fabricheck_verdict_passed", summary.passed, system)
        yield from sample("fabricheck_run_info", 1, run.session, ",".join(run.commits), system)
        if campaign := run.info.get("campaign"):
            yield from sample("fabricheck_acceptance_info", 1, str(campaign), system)
        if ended:
            yield from sample("fabricheck_run_timestamp_seconds", ended, system)
        own = [c for c in (*run.cases, *run.failed_builds) if c.system == system]
        for status in summary.counts:
            number = sum(case.status is status for case in own)
            yield from sample("fabricheck_cases", number, system, status)
        if run.defects:
            yield from sample("fabricheck_cases", len(run.defects), system, Status.INCOMPLETE)
    places = {(c.system, c.partition, c.environ, c.mpi, c.mpi_version, c.ucx_version)
              for c in run.cases if c.mpi}  # fmt: skip
    for place in sorted(places):
        yield from sample("fabricheck_software_info", 1, *place)
    for labels, case in _worst(run.cases).items():
        yield from sample("fabricheck_case_status", 1, *labels, case.status)
        shares = [share for each in case.samples if (share := _share(each)) is not None]
        if shares:
            yield from sample("fabricheck_case_reference_ratio", max(shares), *labels)
        yield from _points(case, labels)


OF_NIGHT: Mapping[str, str] = {
    "fabricheck_verdict_passed": "fabricheck_night_verdict_passed",
    "fabricheck_run_timestamp_seconds": "fabricheck_night_run_timestamp_seconds",
    "fabricheck_cases": "fabricheck_night_cases",
    "fabricheck_run_info": "fabricheck_night_info",
}
"""What is said of the newest run, by its name for the last night."""


def of_nights(nights: Nights, now: datetime) -> Iterator[Sample]:
    """When the last night did its work, until when the next one is not missing, and its steps.

    Raises:
        FabricheckError: if what the last night wrote at its end is damaged.
    """
    known = nights.all()
    if not known:
        return
    complete = [night for night in known if night.complete]
    if complete and not complete[-1].codes:
        raise FabricheckError(
            f"FC2203 expected the codes of the steps in {complete[-1].directory / 'night.json'}, "
            "found it damaged: the next night has one again"
        )
    last = nights.last_good(now)
    if last is not None:
        began = last.began.timestamp()
        yield from sample("fabricheck_last_complete_night_timestamp_seconds", began)
    overdue = (last or known[0]).overdue.timestamp()
    yield from sample("fabricheck_night_overdue_timestamp_seconds", overdue)
    for step, code in complete[-1].codes.items() if complete else ():
        yield from sample("fabricheck_night_step_exit_code", code, step)
    if complete and (path := complete[-1].directory / f"{COVERAGE}.json").is_file():
        yield from _covered(path)


@dataclass(frozen=True, slots=True)
class _Covered:
    """What is believed of what the step ``coverage`` printed."""

    system: str = ""
    at_least_every: int | None = None
    nights: Mapping[str, int] = field(default_factory=dict)


@functools.lru_cache(maxsize=1)
def _covered(path: Path) -> tuple[Sample, ...]:
    """When each node was measured; a night that is complete changes no more.

    Raises:
        FabricheckError: if what the night wrote is damaged.
    """
    try:
        told = msgspec.json.decode(path.read_bytes() or b"{}", type=_Covered)
    except ValueError as error:
        raise FabricheckError(
            f"FC3303 expected in {path} when each node was measured, found: {error}: the next "
            "night has it again"
        ) from error
    limit = [told.at_least_every] if told.at_least_every is not None else []
    found = [each for n in limit for each in sample("fabricheck_node_nights_limit", n, told.system)]
    for node, nights in told.nights.items():
        found += sample("fabricheck_node_unmeasured_nights", nights, told.system, node)
    return tuple(found)


def _worst(cases: Iterable[ReportedCase]) -> dict[tuple[str, ...], ReportedCase]:
    """The cases by their labels; of several that differ in nothing that is shown, the worst."""
    found: dict[tuple[str, ...], ReportedCase] = {}
    for case in cases:
        name = case.benchmark or case.name
        labels = (case.system, case.partition, case.environ, name, case.placement)
        if labels not in found or case.status.severity > found[labels].status.severity:
            found[labels] = case
    return found


def _points(case: ReportedCase, labels: tuple[str, ...]) -> Iterator[Sample]:
    seen = set()
    for each in case.samples:
        known = point_of(each.metric, each.statistic, each.size, each.unit)
        if known is None or each.value is None or known in seen:
            continue
        seen.add(known)
        family, point, factor = known
        yield from sample(family, each.value * factor, *labels, *point)


def point_of(
    metric: str, statistic: str, size: int | None, unit: str
) -> tuple[str, tuple[str, str], float] | None:
    """Where a value is served: family, labels behind the case's, and factor; or nowhere."""
    known = _POINTS.get((metric, statistic))
    if known is None or known[1] != unit or size not in SIZES:
        return None
    family, _, factor = known
    return family, (statistic, str(size)), factor


def _share(measured: Measured) -> float | None:
    """The share of its tolerance that a value uses; ``None`` where nobody says how much there is.

    Of averages, medians and what has no statistic: the slowest of thousands says nothing of a case.
    """
    value, reference = measured.value, measured.reference
    if value is None or reference is None or measured.statistic not in ("avg", "p50", ""):
        return None
    bounds = [each for each in (measured.lower, measured.upper) if each not in (None, reference)]
    return max(
        ((value - reference) / (each - reference) for each in bounds if each is not None),
        default=None,
    )


def _unix(time: str) -> float:
    """Seconds of a time; 0 for what is none."""
    with suppress(ValueError):
        return datetime.fromisoformat(time).timestamp()
    return 0.0
