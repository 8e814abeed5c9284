"""The last run and the last night as samples; the one place that knows where they are recorded."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fabricheck.benchmarks.metrics import Direction, Metric
from fabricheck.errors import FabricheckError
from fabricheck.monitor.catalog import FAMILIES, Sample, Source, sample
from fabricheck.record.entries import Sample as Measured
from fabricheck.report.load import load_report, newest_report
from fabricheck.report.run import Case, Run
from fabricheck.report.summary import summarise
from fabricheck.runner.nights import Nights

SIZES = (8, 64 << 10, 1 << 20, 4 << 20)
"""Message sizes in bytes whose values are served."""

_POINTS: Mapping[tuple[str, str], tuple[str, str, float]] = {
    (Metric.LATENCY, "p50"): ("fabricheck_case_latency_seconds", "us", 1e-6),
    (Metric.LATENCY, "p99"): ("fabricheck_case_latency_seconds", "us", 1e-6),
    (Metric.BANDWIDTH, "avg"): ("fabricheck_case_bandwidth_bytes_per_second", "MB/s", 1e6),
}


_PATIENCE = 30.0
"""Seconds that reading a report may take: one usually, several on a busy machine."""

Parse = Callable[[Path], Iterable[Sample]]
"""Makes samples of a run report; a FabricheckError says that it is damaged."""


def of_report(path: Path) -> Iterable[Sample]:
    """The samples of a run report, read in this process."""
    return of_run(load_report(path))


def of_report_apart(path: Path) -> Iterator[Sample]:
    """The same, read in a process of its own: it takes neither memory nor the GIL of this one.

    Raises:
        FabricheckError: as for reading it here, or if that process did not end well.
        TimeoutError: if it takes too long, which may be otherwise next time.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(
            f"expected to read {path} within {_PATIENCE:g} s, found it unfinished: it is tried "
            "again; look whether this machine or its file system is overloaded"
        ) from None
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise FabricheckError(words[-1])
    for name, labels, value in json.loads(done.stdout):
        yield Sample(FAMILIES[name], tuple(labels), value)


class LastRun:
    """Reads the newest run report, again only when another one is newest, and the nights.

    Args:
        reports: the suite's directory of reports.
        parse: how a report is read.
    """

    name = Source.RUN

    def __init__(self, reports: Path, parse: Parse = of_report) -> None:
        self._reports = reports
        self._parse = parse
        self._key: object = None
        self._samples: tuple[Sample, ...] = ()
        self._problem: FabricheckError | None = None

    def read(self) -> Iterator[Sample]:
        """What may be said of them now.

        Raises:
            FabricheckError: if there is no run report, or the newest one is damaged.
            OSError: if it can't be read now; the next call tries again.
        """
        path = newest_report(self._reports)
        status = path.stat()
        key = (path, status.st_mtime_ns, status.st_size)
        if key != self._key:
            self._samples, self._problem = (), None
            try:
                self._samples = tuple(self._parse(path))
            except FabricheckError as error:
                self._problem = error
            self._key = key
        if self._problem:
            raise self._problem
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


def main() -> None:
    """Write the samples of the report that the command line names, for `of_report_apart`."""
    try:
        found = of_report(Path(sys.argv[1]))
        json.dump([(each.family.name, each.labels, each.value) for each in found], sys.stdout)
    except FabricheckError as error:
        sys.exit(" ".join(str(error).split()))


if __name__ == "__main__":
    main()
