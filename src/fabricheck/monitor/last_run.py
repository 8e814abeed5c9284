"""The last run and the last nights as samples; the one place that knows where they are recorded."""

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.measures.metrics import Metric
from fabricheck.monitor.catalog import FAMILIES, Sample, Source, sample
from fabricheck.record.entries import NIGHT, Session
from fabricheck.record.entries import Sample as Measured
from fabricheck.record.sessions import last
from fabricheck.report.load import load
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


_PATIENCE = 30.0
"""Seconds that reading a report may take: one usually, several on a busy machine."""
_LONG = 8 * 86400.0
"""Seconds; a system whose last night is so much older than the newest has no nights any more."""

Parse = Callable[[Path, str], Iterable[Sample]]
"""Makes samples of a session of the record in a directory; a FabricheckError says that it is
damaged."""


def of_path(perflogs: Path, session: str) -> Iterable[Sample]:
    """The samples of a session in the record, read in this process."""
    return of_run(load(perflogs, session))


def of_path_apart(perflogs: Path, session: str) -> Iterator[Sample]:
    """The same, read in a process of its own: it takes neither memory nor the GIL of this one.

    Raises:
        FabricheckError: as for reading it here, or if that process did not end well.
        TimeoutError: if it takes too long, which may be otherwise next time.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, perflogs, session],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(
            f"expected to read {perflogs} within {_PATIENCE:g} s, found it unfinished: it is tried "
            "again; look whether this machine or its file system is overloaded"
        ) from None
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise FabricheckError(words[-1])
    for name, labels, value in json.loads(done.stdout):
        yield Sample(FAMILIES[name], tuple(labels), value)


class _Parsed:
    """Samples of the last session that was parsed."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse
        self._session = ""
        self._samples: tuple[Sample, ...] = ()

    def of(self, perflogs: Path, session: str) -> tuple[Sample, ...]:
        """The samples; parsed again only if it is another one, or could not be read."""
        if session != self._session:
            # A record that can't be read may be repaired without another session.
            self._session = ""
            self._samples = tuple(self._parse(perflogs, session))
            self._session = session
        return self._samples


class LastRun:
    """Reads the newest session of the record that came to its end, whatever it is of.

    Args:
        perflogs: the suite's record.
        parse: how a session is read.
    """

    name = Source.RUN

    def __init__(self, perflogs: Path, parse: Parse = of_path) -> None:
        self._perflogs = perflogs
        self._parsed = _Parsed(parse)

    def read(self) -> Iterator[Sample]:
        """What may be said of it now.

        Raises:
            FabricheckError: if there is none, or it is damaged.
            OSError: if it can't be read now; the next call tries again.
        """
        newest = last(self._perflogs)
        if newest is None:
            raise FabricheckError(
                f"FC2201 expected a session that came to its end in the record {self._perflogs}, "
                "found none: run the checks first"
            )
        for each in self._parsed.of(self._perflogs, newest.session):
            if each.family.source is Source.RUN:
                yield each


class LastNight:
    """Reads the last night of each system from the record, and what became of its cases.

    Before the first night, the cases are those of the newest run.

    Args:
        reports: the suite's directory of reports.
        perflogs: its record.
        parse: how a session is read.
    """

    name = Source.NIGHT

    def __init__(self, reports: Path, perflogs: Path, parse: Parse = of_path) -> None:
        self._reports = reports
        self._perflogs = perflogs
        self._parse = parse
        self._parsed: dict[str, _Parsed] = {}
        self._seen: object = None
        self._last: Sequence[Session] = ()

    def read(self) -> Iterator[Sample]:
        """What may be said of them now.

        Raises:
            FabricheckError: if a night came to its end and the record does not have it, or it is
                damaged.
            OSError: if it can't be read now; the next call tries again.
        """
        nights = self._nights()
        self._refuse_older(max((_unix(each.time) for each in nights), default=0))
        runs = [] if nights else [each for each in [last(self._perflogs)] if each]
        for found in nights or runs:
            parsed = self._parsed.setdefault(found.system, _Parsed(self._parse))
            for each in parsed.of(self._perflogs, found.session):
                if nights and each.family.name in OF_NIGHT:
                    yield each._replace(family=FAMILIES[OF_NIGHT[each.family.name]])
                elif each.family.source is Source.NIGHT:
                    yield each

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
        if ended:
            yield from sample("fabricheck_run_timestamp_seconds", ended, system)
        own = [c for c in (*run.cases, *run.failed_builds) if c.system == system]
        for status in summary.counts:
            number = sum(case.status is status for case in own)
            yield from sample("fabricheck_cases", number, system, status)
        if run.defects:
            yield from sample("fabricheck_cases", len(run.defects), system, Status.INCOMPLETE)
    for labels, case in _worst(run.cases).items():
        yield from sample("fabricheck_case_severity", case.status.severity, *labels)
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


def main() -> None:
    """Write the samples of what the command line names, for `of_path_apart`."""
    try:
        found = of_path(Path(sys.argv[1]), sys.argv[2])
        json.dump([(each.family.name, each.labels, each.value) for each in found], sys.stdout)
    except FabricheckError as error:
        sys.exit(" ".join(str(error).split()))


if __name__ == "__main__":
    main()
