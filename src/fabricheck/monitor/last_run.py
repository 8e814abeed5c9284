"""The last run and the last night as samples; the one place that knows where they are recorded."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fabricheck.benchmarks.metrics import Direction, Metric
from fabricheck.monitor.catalog import Sample, Source, sample
from fabricheck.record.model import Sample as Measured
from fabricheck.report.load import load_report, newest_report
from fabricheck.report.model import Case, Run
from fabricheck.report.summary import summarise
from fabricheck.runner.nights import Nights

SIZES = (8, 64 << 10, 1 << 20, 4 << 20)
"""Message sizes in bytes whose values are served."""

_POINTS: Mapping[tuple[str, str], tuple[str, str, float]] = {
    (Metric.LATENCY, "p50"): ("fabricheck_case_latency_seconds", "us", 1e-6),
    (Metric.LATENCY, "p99"): ("fabricheck_case_latency_seconds", "us", 1e-6),
    (Metric.BANDWIDTH, "avg"): ("fabricheck_case_bandwidth_bytes_per_second", "MB/s", 1e6),
}


class LastRun:
    """Reads the newest run report, again only when another one is newest, and the nights.

    Args:
        reports: the suite's directory of reports.
    """

    name = Source.RUN

    def __init__(self, reports: Path) -> None:
        self._reports = reports
        self._key: object = None
        self._samples: tuple[Sample, ...] = ()

    def read(self) -> Iterator[Sample]:
        """What may be said of them now.

        Raises:
            FabricheckError: if there is no run report, or the newest one is damaged.
        """
        path = newest_report(self._reports)
        status = path.stat()
        key = (path, status.st_mtime_ns, status.st_size)
        if key != self._key:
            self._key, self._samples = None, ()
            self._samples = tuple(of_run(load_report(path)))
            self._key = key
        yield from self._samples
        yield from of_nights(Nights(self._reports / "nights"), datetime.now(UTC))


def of_run(run: Run) -> Iterator[Sample]:
    """Verdict, counts, and what became of each case."""
    summary = summarise(run)
    systems = run.systems or ("none",)
    yield from sample("mpi_benchmark_success", summary.passed)
    ended = _unix(run.ended)
    if ended is not None:
        yield from sample("mpi_benchmark_last_run_timestamp", ended)
    for system in systems:
        yield from sample("fabricheck_verdict_passed", summary.passed, system)
        if ended is not None:
            yield from sample("fabricheck_run_timestamp_seconds", ended, system)
        own = [c for c in (*run.cases, *run.failed_builds) if c.system == system]
        for status in summary.counts:
            number = sum(case.status is status for case in own)
            yield from sample("fabricheck_cases", number, system, status)
    for labels, case in _worst(run.cases).items():
        yield from sample("fabricheck_case_severity", case.status.severity, *labels)
        ratios = [ratio for each in case.samples if (ratio := _ratio(each)) is not None]
        if ratios:
            yield from sample("fabricheck_case_reference_ratio", max(ratios), *labels)
        yield from _points(case, labels)


def of_nights(nights: Nights, now: datetime) -> Iterator[Sample]:
    """When the last night did its work, until when the next one is not missing, and its steps."""
    last = nights.last_good(now)
    if last is not None:
        began = last.began.timestamp()
        yield from sample("fabricheck_last_complete_night_timestamp_seconds", began)
    overdue = last.overdue.timestamp() if last else 0
    yield from sample("fabricheck_night_overdue_timestamp_seconds", overdue)
    complete = [night for night in nights.all() if night.complete]
    for step, code in complete[-1].codes.items() if complete else ():
        yield from sample("fabricheck_night_step_exit_code", code, step)


def _worst(cases: Iterable[Case]) -> dict[tuple[str, ...], Case]:
    """The cases by their labels; of several that differ in nothing that is shown, the worst."""
    found: dict[tuple[str, ...], Case] = {}
    for case in cases:
        name = case.benchmark or case.name
        labels = (case.system, case.partition, case.environ, name, case.placement)
        if labels not in found or case.status.severity > found[labels].status.severity:
            found[labels] = case
    return found


def _points(case: Case, labels: tuple[str, ...]) -> Iterator[Sample]:
    seen = set()
    for each in case.samples:
        known = _POINTS.get((each.metric, each.statistic))
        if not known or each.size not in SIZES or each.value is None:
            continue
        family, unit, factor = known
        point = (each.statistic, str(each.size))
        if each.unit == unit and (family, point) not in seen:
            seen.add((family, point))
            yield from sample(family, each.value * factor, *labels, *point)


def _ratio(measured: Measured) -> float | None:
    """How much worse a value is than its reference; ``None`` if that can't be told."""
    if not measured.value or not measured.reference or measured.value * measured.reference < 0:
        return None
    try:
        direction = Metric(measured.metric).row.direction
    except ValueError:
        return None
    ratio = measured.value / measured.reference
    return ratio if direction is Direction.LOWER else 1 / ratio


def _unix(time: str) -> float | None:
    with suppress(ValueError):
        return datetime.fromisoformat(time).timestamp()
    return None
