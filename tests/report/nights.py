"""Histories that fit the sample runs: nights of normal noise, and a step where a test wants one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from fabricheck.history import frame
from fabricheck.history.series import Series, SeriesKey
from fabricheck.history.store import History
from fabricheck.record import entries
from fabricheck.record.entries import Sample
from fabricheck.record.write import append
from fabricheck.report.history_view import Bounds, HistoryView, read_history_view, shown
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.trend.detect import analyse

DAY = np.timedelta64(86400, "s")
NOISE = 0.02
SESSION = "night-{}"

Factor = Callable[[ReportedCase, Sample], float]


def steady(case: ReportedCase, sample: Sample) -> float:
    """No change."""
    return 1.0


def slower_over_tcp(case: ReportedCase, sample: Sample) -> float:
    """A change of Open MPI's latency over TCP between two nodes."""
    hit = (case.benchmark, case.environ, case.placement) == ("latency", "openmpi", "tcp-2n")
    return 1.25 if hit else 1.0


def series_of(
    run: ReportedRun, *, nights: int = 60, recent: int = 4, factor: Factor = steady, seed: int = 1
) -> list[Series]:
    """Every value of a run as the last of so many nights; the recent ones are changed."""
    generator = np.random.default_rng(seed)
    end = np.datetime64(datetime.fromisoformat(run.ended).replace(tzinfo=None), "s")
    times = end + (np.arange(nights) - nights + 1) * DAY
    sessions = np.array([SESSION.format(night) for night in range(nights)])
    found = []
    for case in run.cases:
        for sample in case.samples:
            if sample.value is None or not case.placement:
                continue
            values = sample.value * np.exp(NOISE * generator.standard_normal(nights))
            change = factor(case, sample)
            values[-recent:] *= change
            found.append(Series(_key(case, sample), times, values / change, sessions))
    return found


def _key(case: ReportedCase, sample: Sample) -> SeriesKey:
    return SeriesKey(
        system=case.system,
        partition=case.partition,
        environ=case.environ,
        check=case.name.partition(" ")[0],
        benchmark=case.benchmark,
        transport=case.transport,
        num_nodes=case.num_nodes,
        ranks=case.ranks,
        program=case.program,
        metric=sample.metric,
        statistic=sample.statistic,
        size=sample.size,
        unit=sample.unit,
    )


def past_of(run: ReportedRun, series: Sequence[Series], *, holds_run: bool = True) -> HistoryView:
    """What the page gets from a history of these series."""
    trend = analyse(series, {})
    events = shown(trend)
    differences = tuple(() for _ in events)
    return HistoryView(trend, events, differences, tuple(series), bounds_of(run), {}, holds_run)


def bounds_of(run: ReportedRun) -> dict[SeriesKey, Bounds]:
    """What the values of a run were judged by."""
    return {
        _key(case, s): Bounds(s.reference, s.lower, s.upper, s.warning_lower, s.warning_upper)
        for case in run.cases
        for s in case.samples
    }


def recorded(
    run: ReportedRun, series: Sequence[Series], directory: Path, *, upgraded: int | None = None
) -> HistoryView:
    """What the page gets if the series stand in a record.

    ``upgraded`` is the number of nights for which Open MPI has had another UCX; the nodes got
    another kernel the night before.
    """
    write_perflog(series, directory / "nights", bounds_of(run))
    if upgraded is not None:
        write_provenance(series, directory / "nights", upgraded)
    store = directory / "history"
    now = datetime.fromisoformat(run.ended) + timedelta(days=1)
    with History.open(store) as history:
        history.refresh(perflogs=[directory / "nights"], now=now)
    return read_history_view(store, run, [directory / "sites"], [directory / "references"])


def write_provenance(series: Sequence[Series], directory: Path, upgraded: int) -> None:
    """On what and with what each session measured."""
    nights = len(series[0])
    where = {(each.key.system, each.key.partition, each.key.environ) for each in series}
    for night in range(nights):
        new = night >= nights - upgraded
        machine = {"kernel": "6.1.0-31" if night >= nights - upgraded - 1 else "6.1.0-28"}
        software = {"ucx": "1.19.0" if new else "1.18.1"}
        for place in sorted(where):
            nodes = entries.Nodes(
                time=f"{series[0].times[night]}+00:00",
                session=SESSION.format(night),
                **dict(zip(("system", "partition", "environ"), place, strict=True)),
                nodes=("n1", "n2"),
                machine=machine,
                software=software if place[2] == "openmpi" else {"ucx": "1.18.1"},
            )
            append(directory, [nodes])


def write_perflog(
    series: Sequence[Series], directory: Path, bounds: Mapping[SeriesKey, Bounds] | None = None
) -> None:
    """The series as a record, for what reads a history itself."""
    cases = []
    for each in series:
        judged = (bounds or {}).get(each.key)
        known = asdict(judged) if judged else {}
        point = {name: getattr(each.key, name) for name in frame.POINT}
        for time, value, session in zip(each.times, each.values, each.sessions, strict=True):
            cases.append(
                entries.CaseEntry(
                    time=f"{time}+00:00",
                    session=str(session),
                    job=f"{session} {each.key}",
                    level="good",
                    result="pass",
                    **{name: getattr(each.key, name) for name in frame.CASE},
                    samples=(entries.Sample(value=float(value), level="good", **point, **known),),
                )
            )
    # Night by night, as runs write them.
    append(directory, sorted(cases, key=lambda case: case.time))
