"""Lemon nodes: nodes with which jobs are slower than without them, over all series of some weeks.

docs/how-to/localisation.md has the method in words, and its measured power.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fabricheck.history.frame import CASE, KEY
from fabricheck.localise.evidence import loss
from fabricheck.measures.metrics import Direction, Metric
from fabricheck.trend.robust import NORMAL_MAD, Array, Flags

SMALLEST: Final = 0.03
"""Relative slowdown below which no node is accused."""

ENOUGH: Final = 9.0
"""Log-likelihood ratio at which a node is accused. By Ville's inequality a healthy node is, in one
of exp(9) = 8100 nights; the bound is one in 1000, and noise is never quite as modelled."""

_NIGHT: Final = 6.0
"""No night counts for more, so that one alone never accuses."""
_NIGHT_ALONE: Final = 3.0
"""Nor a night in which every job had the node, until a later one without it was as before: a fabric
that became slower for all looks the same."""
_FINEST: Final = 0.003
"""Noise of a job is granted at least so much: what nobody modelled, such as the cable's place."""
_CHANCE: Final = 0.01
"""Of so many slow jobs where the node makes no difference; above it no node is accused."""
_LEAST_SESSIONS: Final = 3
_BESIDE: Final = 3
"""Nights before and after to which a night is compared in which every job had the node."""
_MEDIAN: Final = 1.25
"""Standard deviation of a median over that of a mean, of normal values."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """What the jobs of some weeks measured, each one number.

    Jobs of one session on the same nodes are one: what disturbed one of them disturbed the others.

    Attributes:
        nights: number of each job's session, rising with time.
        times: when the session began, one for each session.
        members: jobs × nodes, whether the node took part.
        slower: by how much each was slower than its series usually are, as a logarithm.
        names: the nodes.
    """

    nights: npt.NDArray[np.int64]
    times: npt.NDArray[np.datetime64]
    members: Flags
    slower: Array
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Lemon:
    """Nodes that the same evidence accuses.

    Attributes:
        nodes: one node; several where all jobs had all of them, so that nothing tells them apart.
        slowdown: by how much jobs with them are slower, relative; the median of the nights since.
        since: when the first night began that speaks against them without a break.
        nights: how many nights with them there were since.
        jobs: how many placements of jobs with them since; of these, ``slow`` were slower by half of
            the slowdown at least.
        slow: see ``jobs``.
        others: the same of jobs without them, and how many of these were slow.
        others_slow: see ``others``.
        evidence: log-likelihood ratio.
    """

    nodes: tuple[str, ...]
    slowdown: float
    since: np.datetime64
    nights: int
    jobs: int
    slow: int
    others: int
    others_slow: int
    evidence: float


def jobs_of(values: pl.LazyFrame) -> Jobs:
    """The jobs of a system's values (``History.values``), of the metrics whose direction is known.

    Each value is compared with the median of its series; a job is the median of its values.
    """
    rows = (
        values.filter(
            pl.col("node_list") != "",
            pl.col("value") > 0,
            pl.col("metric").is_in(list(_SIGNS)),
            pl.col("statistic").is_in(["p50", "avg", ""]),
        )
        .with_columns(
            (pl.col("value").log() * pl.col("metric").replace_strict(_SIGNS, default=0)).alias("y"),
            pl.when(pl.col("session") == "")
            .then(pl.col("time").dt.date().cast(pl.String))
            .otherwise(pl.col("session"))
            .alias("night"),
        )
        .with_columns(
            (pl.col("y") - pl.col("y").median().over(list(KEY))).alias("slower"),
            pl.col("night").n_unique().over(list(KEY)).alias("sessions"),
        )
        .filter(pl.col("sessions") >= _LEAST_SESSIONS)
        .group_by("night", "node_list", *CASE, "job")
        .agg(pl.col("slower").median(), pl.col("time").min())
        .group_by("night", "node_list")
        .agg(pl.col("slower").median(), pl.col("time").min())
        .with_columns(pl.col("time").min().over("night").alias("begin"))
        .sort("begin", "night", "node_list")
        .collect()
    )
    nodes = [text.split(",") for text in rows["node_list"]]
    names = sorted({name for each in nodes for name in each})
    places = {name: place for place, name in enumerate(names)}
    members = np.zeros((len(rows), len(names)), dtype=bool)
    for job, each in enumerate(nodes):
        members[job, [places[name] for name in each]] = True
    begins, nights = np.unique(
        rows["begin"].dt.replace_time_zone(None).to_numpy().astype("datetime64[s]"),
        return_inverse=True,
    )
    return Jobs(nights, begins, members, rows["slower"].to_numpy(), names)


_SIGNS: Final[Mapping[str, int]] = {
    str(metric): 1 if metric.row.direction is Direction.LOWER else -1
    for metric in Metric
    if metric.row.direction is not None
}


def lemons(jobs: Jobs) -> list[Lemon]:
    """The nodes that are accused, most evidence first.

    The node that explains most is taken first, and its jobs are put aside: those that only ran
    beside it are then as they should be.
    """
    found: list[Lemon] = []
    left = np.ones(len(jobs.slower), dtype=bool)
    while True:
        scale = _Scale.of(jobs, left)
        trials = ((node, _trial(jobs, left, node, scale)) for node in range(len(jobs.names)))
        suspects = {node: trial for node, trial in trials if trial.evidence >= ENOUGH}
        if not suspects:
            return found
        node = max(suspects, key=lambda each: (suspects[each].gain, suspects[each].evidence))
        found.append(_lemon(jobs, left, node, suspects[node]))
        left &= ~jobs.members[:, node]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Standard deviations of a job beside the others of its night, and of nights."""

    job: float
    night: float

    @classmethod
    def of(cls, jobs: Jobs, left: Flags) -> "_Scale":
        medians, beside = [], []
        for here in _by_night(jobs, left):
            median = np.median(jobs.slower[here])
            medians.append(median)
            if len(here) > 1:
                # Of n distances from their median n - 1 are free.
                beside += list((jobs.slower[here] - median) * np.sqrt(len(here) / (len(here) - 1)))
        job = _spread(np.array(beside)) if beside else _spread(jobs.slower[left])
        return cls(max(job, _FINEST), max(_spread(np.array(medians)), _FINEST))


def _spread(values: Array) -> float:
    return float(NORMAL_MAD * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _by_night(jobs: Jobs, left: Flags) -> Iterator[npt.NDArray[np.int64]]:
    """The jobs of each night that has some."""
    where = np.flatnonzero(left)
    for part in np.split(where, np.flatnonzero(np.diff(jobs.nights[where])) + 1):
        if len(part):
            yield part


@dataclass(frozen=True, slots=True)
class _Trial:
    """What speaks against a node: the evidence, since which night, by how much its jobs were slower
    in the middle one of the nights since, as a logarithm, and how much that explains.
    """

    evidence: float
    since: int
    slower: float = 0.0
    gain: float = 0.0


def _trial(jobs: Jobs, left: Flags, node: int, scale: _Scale) -> _Trial:
    """The cumulated sum of Page (1954, *Continuous inspection schemes*) over a node's nights."""
    evidence, since = 0.0, -1
    slower: list[float] = []
    for night in np.unique(jobs.nights[left & jobs.members[:, node]]):
        told, difference = _night(jobs, left, node, int(night), scale)
        evidence += told
        slower.append(difference)
        if evidence <= 0:
            evidence, since, slower = 0.0, -1, []
        elif since < 0:
            since = int(night)
    mine = left & jobs.members[:, node] & (jobs.nights >= since)
    # A series that now and then takes its other mode spoils a night here and there.
    if (
        evidence < ENOUGH
        or (middle := np.median(slower)) < np.log1p(SMALLEST)
        or not _more_often(jobs.slower > middle / 2, mine, left & ~jobs.members[:, node])
    ):
        return _Trial(0.0, -1)
    gain = loss(jobs.slower[mine] / scale.job)
    gain -= loss((jobs.slower[mine] - np.median(jobs.slower[mine])) / scale.job)
    return _Trial(evidence, since, float(np.median(slower)), float(gain.sum()))


def _more_often(slow: Flags, mine: Flags, others: Flags) -> bool:
    """Whether jobs are slow more often than others (Fisher's exact test, one-sided)."""
    here, every = int(mine.sum()), int((mine | others).sum())
    slow_here, slow_jobs = int((slow & mine).sum()), int((slow & (mine | others)).sum())
    arrangements = sum(
        comb(slow_jobs, each) * comb(every - slow_jobs, here - each)
        for each in range(slow_here, min(slow_jobs, here) + 1)
    )
    return arrangements / comb(every, here) <= _CHANCE


def _night(jobs: Jobs, left: Flags, node: int, night: int, scale: _Scale) -> tuple[float, float]:
    """What a night says: the log-likelihood of a node that is slow over that of a healthy one, and
    by how much its jobs were slower than those beside them.
    """
    here = left & (jobs.nights == night)
    mine = jobs.slower[here & jobs.members[:, node]]
    rest = jobs.slower[here & ~jobs.members[:, node]]
    if len(rest):
        difference = np.median(mine) - np.median(rest)
        deviation = _MEDIAN * scale.job * np.sqrt(1 / len(mine) + 1 / len(rest))
        most = _NIGHT
    else:
        others = left & ~jobs.members[:, node]
        before = _median_of(jobs, others & (jobs.nights < night), last=True)
        after = _median_of(jobs, others & (jobs.nights > night), last=False)
        usual = max((each for each in (before, after) if each is not None), default=None)
        if usual is None:
            return 0.0, 0.0
        difference = np.median(mine) - usual
        deviation = np.hypot(scale.night, _MEDIAN * scale.job / np.sqrt(len(mine))) * np.sqrt(2)
        most = _NIGHT_ALONE if after is None else _NIGHT
    z, slow = difference / deviation, (difference - np.log1p(SMALLEST)) / deviation
    ratio = loss(z) - (loss(slow) if slow < 0 else 0.0)
    return float(np.clip(ratio, -_NIGHT, most)), float(difference)


def _median_of(jobs: Jobs, where: Flags, *, last: bool) -> float | None:
    """The middle of the last, or first, nights of some jobs."""
    nights = np.unique(jobs.nights[where])
    chosen = nights[-_BESIDE:] if last else nights[:_BESIDE]
    medians = [np.median(jobs.slower[where & (jobs.nights == night)]) for night in chosen]
    return float(np.median(medians)) if medians else None


def _lemon(jobs: Jobs, left: Flags, node: int, trial: _Trial) -> Lemon:
    since = left & (jobs.nights >= trial.since)
    mine = since & jobs.members[:, node]
    alike = (jobs.members[since] == jobs.members[since, node][:, None]).all(axis=0)
    slow = jobs.slower > trial.slower / 2
    others = since & ~mine
    return Lemon(
        nodes=tuple(name for name, same in zip(jobs.names, alike, strict=True) if same),
        slowdown=float(np.expm1(trial.slower)),
        since=jobs.times[trial.since],
        nights=len(np.unique(jobs.nights[mine])),
        jobs=int(mine.sum()),
        slow=int((mine & slow).sum()),
        others=int(others.sum()),
        others_slow=int((others & slow).sum()),
        evidence=trial.evidence,
    )
