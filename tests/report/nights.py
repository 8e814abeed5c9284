"""Histories that fit the sample runs: nights of normal noise, and a step where a test wants one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from fabricheck.history.provenance import FILE, Origin, append
from fabricheck.history.refresh import Request
from fabricheck.history.series import Series, SeriesKey
from fabricheck.history.store import History
from fabricheck.record.model import Sample
from fabricheck.report.model import Case, Run
from fabricheck.report.past import Bounds, Past, read_past, shown
from fabricheck.trend.detect import analyse

DAY = np.timedelta64(86400, "s")
NOISE = 0.02
SESSION = "night-{}"

COLUMNS = (
    *("time", "level", "result", "system", "partition", "environment", "check", "benchmark"),
    *("transport", "nodes", "variable", "metric", "statistic", "size", "value", "unit", "job_id"),
    *("session", "reference", "lower", "upper", "warning_lower", "warning_upper"),
)

Factor = Callable[[Case, Sample], float]


def steady(case: Case, sample: Sample) -> float:
    """No change."""
    return 1.0


def slower_over_tcp(case: Case, sample: Sample) -> float:
    """A change of Open MPI's latency over TCP between two nodes."""
    hit = (case.benchmark, case.environ, case.placement) == ("latency", "openmpi", "tcp-2n")
    return 1.25 if hit else 1.0


def series_of(
    run: Run, *, nights: int = 60, recent: int = 4, factor: Factor = steady, seed: int = 1
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


def _key(case: Case, sample: Sample) -> SeriesKey:
    return SeriesKey(
        system=case.system,
        partition=case.partition,
        environ=case.environ,
        check=case.name.partition(" ")[0],
        benchmark=case.benchmark,
        placement=case.placement,
        transport=case.transport,
        num_nodes=case.num_nodes,
        ranks=case.ranks,
        program=case.program,
        metric=sample.metric,
        statistic=sample.statistic,
        size=sample.size,
        unit=sample.unit,
    )


def past_of(run: Run, series: Sequence[Series], *, holds_run: bool = True) -> Past:
    """What the page gets from a history of these series."""
    trend = analyse(series, {})
    events = shown(trend)
    differences = tuple(() for _ in events)
    return Past(trend, events, differences, tuple(series), bounds_of(run), {}, holds_run)


def bounds_of(run: Run) -> dict[SeriesKey, Bounds]:
    """What the values of a run were judged by."""
    return {
        _key(case, s): Bounds(s.reference, s.lower, s.upper, s.warning_lower, s.warning_upper)
        for case in run.cases
        for s in case.samples
    }


def recorded(
    run: Run, series: Sequence[Series], directory: Path, *, upgraded: int | None = None
) -> Past:
    """What the page gets if the series stand in perflogs.

    ``upgraded`` is the number of nights for which Open MPI has had another UCX; the nodes got
    another kernel the night before.
    """
    write_perflog(series, directory / "perflogs", bounds_of(run))
    if upgraded is not None:
        write_provenance(series, directory / "perflogs", upgraded)
    store = directory / "history"
    now = datetime.fromisoformat(run.ended) + timedelta(days=1)
    with History.open(store) as history:
        history.refresh(Request(perflogs=[directory / "perflogs"], now=now))
    return read_past(store, run, directory / "sites", directory / "references")


def write_provenance(series: Sequence[Series], directory: Path, upgraded: int) -> None:
    """On what and with what each session measured."""
    nights = len(series[0])
    where = {(each.key.system, each.key.partition, each.key.environ) for each in series}
    for night in range(nights):
        new = night >= nights - upgraded
        machine = {"kernel": "6.1.0-31" if night >= nights - upgraded - 1 else "6.1.0-28"}
        software = {"ucx": "1.19.0" if new else "1.18.1"}
        for place in sorted(where):
            origin = Origin(
                str(series[0].times[night]),
                SESSION.format(night),
                *place,
                ("n1", "n2"),
                machine,
                software if place[2] == "openmpi" else {"ucx": "1.18.1"},
            )
            append(directory / FILE, origin)


def write_perflog(
    series: Sequence[Series], directory: Path, bounds: Mapping[SeriesKey, Bounds] | None = None
) -> None:
    """The series as a perflog, for what reads a history itself."""
    lines = []
    for each in series:
        key = each.key
        judged = (bounds or {}).get(key)
        known = asdict(judged) if judged else {}
        for time, value, session in zip(each.times, each.values, each.sessions, strict=True):
            fields = {
                "time": f"{time}+00:00",
                "level": "good",
                "result": "pass",
                "environment": key.environ,
                "nodes": key.num_nodes,
                "variable": f"{key.metric}_{key.statistic}_{key.size}",
                "size": "" if key.size is None else key.size,
                "value": value,
                "job_id": session,
                "session": session,
                **{name: "" if bound is None else bound for name, bound in known.items()},
            }
            lines.append("|".join(str(fields.get(c, getattr(key, c, ""))) for c in COLUMNS))
    directory.mkdir(parents=True, exist_ok=True)
    # Night by night, as runs write them.
    (directory / "Check.log").write_text("\n".join(["|".join(COLUMNS), *sorted(lines)]) + "\n")
