"""The stress as samples: what its last blocks measured, as long as it runs."""

import contextlib
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from statistics import StatisticsError, correlation, median
from typing import Any

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.measures.metrics import Metric
from fabricheck.monitor.catalog import FAMILIES, Sample, Source, sample
from fabricheck.monitor.spread import Spread, by_size
from fabricheck.record.entries import CaseEntry, from_line
from fabricheck.schedulers.protocol import Phase, Standing
from fabricheck.stress.state import StressDirectory, StressState, dead_nodes, places, scheduler_for
from fabricheck.stress.turns import due
from fabricheck.transports.placement import Placement

_SECOND = 1e-6
_ASK_EVERY = 15.0
_PATIENCE = 5.0
_LAST = 60
_FEWEST = 8
# What a block may take behind its limit: to be ended, to be judged, and to be read here.
_LATE = 30.0
# With a duty below 1, so many times the usual wait.
_USUAL = 10
_OLD = {"allreduce": "allreduce", "bcast": "broadcast", "alltoall": "alltoall",
        "allgather": "allgather", "reduce": "reduce"}  # fmt: skip
_MB = 1 << 20


class Doing(StrEnum):
    """What a stress is doing."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    PAUSED = "paused"
    REQUEUED = "requeued"
    GONE = "gone"
    UNKNOWN = "unknown"
    ENDED = "ended"


_WAITS = (Doing.WAITING, Doing.PREEMPTED, Doing.PAUSED, Doing.REQUEUED)


class Stress:
    """Reads what each stress has recorded since it was read before.

    Args:
        reports: the suite's directory of reports.
    """

    name = Source.STRESS

    def __init__(self, reports: Path) -> None:
        self._reports = reports
        self._known: dict[str, _Follower] = {}

    def read(self) -> Iterator[Sample]:
        """What may be said of them now; of a stress that has ended, little but that it has.

        Raises:
            FabricheckError: for a damaged state.
        """
        old_names = True
        found = places(self._reports)
        for place in found:
            session = place.state().session
            follower = self._known.get(place.name)
            if follower is None or follower.session != session:
                follower = self._known[place.name] = _Follower(place, session)
            measures = yield from follower.read(old_names=old_names)
            # The other benchmark knows one stress at a time.
            old_names = old_names and not measures
        doing = {self._known[place.name].doing for place in found} - {Doing.UNKNOWN}
        if doing:
            yield Sample(FAMILIES["mpi_stress_test_running"], (), float(Doing.RUNNING in doing))


class _Follower:
    """What is known of one stress, and how far its record was read."""

    def __init__(self, place: StressDirectory, session: str) -> None:
        self._place = place
        self.session = session
        self._offset = 0
        self._seen: set[str] = set()
        self._levels: Counter[str] = Counter()
        self._blocks: deque[CaseEntry] = deque(maxlen=_LAST)
        # Those that its blocks ran on last. Blocks that a dead node ends at once have none, and
        # there may be more of them than the last ones that are kept.
        self._nodes: Sequence[str] = ()
        self._latest: dict[str, CaseEntry] = {}
        self._times: dict[str, float] = {}
        self._plan: Mapping[str, Any] = {}
        self._spread: dict[tuple[str, ...], Spread] = {}
        self._asked = -_ASK_EVERY
        self._standing: Standing | None = None
        self._dead: Mapping[str, str] | None = None
        self._came = 0.0
        self.doing = Doing.UNKNOWN

    def read(self, *, old_names: bool) -> Generator[Sample, None, bool]:
        """Its samples; returns whether there are values among them."""
        state = self._place.state()
        with contextlib.suppress(FabricheckError):
            self._plan = self._plan or self._place.read_plan()
        self._follow()
        before, self.doing = self.doing, self._ask(state)
        for each in Doing:
            yield from self._sample("state", each is self.doing, each)
        if self.doing is not Doing.UNKNOWN:
            waits = self.doing in _WAITS
            yield from self._sample("running", self.doing is Doing.RUNNING)
            yield from self._sample("waiting", waits)
        for family, at in self._times.items():
            yield from self._sample(family, at)
        if self.doing is Doing.ENDED:
            return False
        # A worker that hangs before it can say when it began, too.
        if self.doing is Doing.RUNNING and before is not Doing.RUNNING:
            self._came = 0.0 if before is Doing.UNKNOWN and state.began else time.time()
        yield from self._counts(state)
        overdue, oldest = self._limits(state)
        if self.doing is Doing.RUNNING:
            yield from self._sample("overdue_timestamp_seconds", overdue)
        measures = self.doing in (Doing.RUNNING, Doing.UNKNOWN) and time.time() < overdue
        if measures and self._blocks:
            yield from self._values(oldest, old_names=old_names)
        return measures and bool(self._blocks)

    def _sample(self, family: str, value: float, *labels: str) -> Iterator[Sample]:
        return sample(f"fabricheck_stress_{family}", value, *self._labels, *labels)

    @property
    def _labels(self) -> tuple[str, ...]:
        """What it is called, and where it runs; that is empty as long as it has no plan."""
        placement = self._plan.get("placement")
        transport = Placement.read(placement).transport.name if placement else ""
        where = (self._plan.get(name, "") for name in ("system", "partition", "environ"))
        return self._place.name, *where, transport

    def _counts(self, state: StressState) -> Iterator[Sample]:
        iteration = self._blocks[-1].repeat if self._blocks else 0
        yield from self._sample("iterations_total", iteration or 0)
        yield from self._sample("restarts_total", state.restarts)
        for level in Level:
            yield from self._sample("blocks_total", self._levels[level], level)
        for kind, spread in self._spread.items():
            yield from spread.samples((*self._labels, *kind))
        if self._blocks:
            last = self._blocks[-1]
            yield from self._sample(
                "info", 1, last.session, last.mpi, last.mpi_version, last.ucx_version
            )
        if state.until:
            yield from self._sample("until_timestamp_seconds", state.until)
        for node in sorted({*self._plan.get("exclude", ()), *state.dead}):
            yield from self._sample("node_excluded", 1, node)
        for node, at in due(self._plan, state).items() if self._plan else ():
            yield from self._sample("node_due_timestamp_seconds", at, node)
        dead = {**state.dead, **(self._dead or {})}
        for node in sorted({*dead, *(() if self._dead is None else self._nodes)}):
            yield from self._sample("node_dead", node in dead, node)

    def _values(self, oldest: float, *, old_names: bool) -> Iterator[Sample]:
        related = _related(self._blocks)
        if related is not None:
            yield from self._sample("ecn_latency_correlation", related)
        points: dict[tuple[str, ...], Sample] = {}
        fresh = [case for case in self._latest.values() if _unix(case) >= oldest]
        for case in fresh:
            for each in _points(case, self._labels, old_names=old_names):
                points[(each.family.name, *each.labels)] = each
        yield from points.values()
        if old_names:
            iteration = float(self._blocks[-1].repeat or 0)
            yield Sample(FAMILIES["mpi_stress_test_iteration"], (), iteration)
            for case in fresh[-1:]:
                yield Sample(FAMILIES["mpi_benchmark_last_update_timestamp"], (), _unix(case))

    def _follow(self) -> None:
        with contextlib.suppress(FileNotFoundError), self._place.lines.open("rb") as file:
            if file.seek(0, 2) < self._offset:
                self._offset = 0
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                with contextlib.suppress(ValueError):
                    self._add(from_line(line[:-1]))

    def _add(self, entry: object) -> None:
        if (
            not isinstance(entry, CaseEntry)
            or entry.session != self.session
            or entry.id in self._seen
        ):
            return
        self._seen.add(entry.id)
        self._levels[entry.level] += 1
        self._blocks.append(entry)
        self._nodes = entry.nodes or self._nodes
        self._times["last_block_timestamp_seconds"] = _unix(entry)
        if entry.level in (Level.GOOD, Level.WARNING):
            self._times["last_good_block_timestamp_seconds"] = _unix(entry)
        # Its number in the mix is its kind. What failed or has no value leaves none of its kind.
        kind = entry.id.partition(".")[2]
        self._latest.pop(kind, None)
        measured = any(e.metric == Metric.LATENCY and e.value is not None for e in entry.samples)
        if measured and entry.level != Level.UNTRUSTED:
            self._latest[kind] = entry
            for kind_of, found in by_size(entry).items():
                self._spread.setdefault(kind_of, Spread()).add(entry, found)

    def _ask(self, state: StressState) -> Doing:
        """What it is doing; the scheduler is asked now and then."""
        if state.ended or not self.session:
            return Doing.ENDED
        if not state.job:
            return Doing.WAITING
        if time.monotonic() - self._asked >= _ASK_EVERY:
            self._standing = self._dead = None
            with contextlib.suppress(FabricheckError):
                scheduler = scheduler_for(self._plan, _PATIENCE)
                self._standing = scheduler.standing(self._place.job_name, state.job)
                states = scheduler.node_states()
                nodes = {*self._nodes, *state.measured}
                self._dead = dead_nodes(nodes, [*self._blocks][-1:], scheduler, states)
            self._asked = time.monotonic()
        if self._standing is None:
            return Doing.UNKNOWN
        if state.paused and self._standing.phase is not Phase.GONE:
            return Doing.PAUSED
        if self._standing.phase is Phase.WAITING and state.resumed:
            # One that is suspended keeps its nodes.
            yielded = self._standing.nodes or state.yielded >= state.resumed
            return Doing.PREEMPTED if yielded else Doing.REQUEUED
        return Doing(self._standing.phase)

    def _limits(self, state: StressState) -> tuple[float, float]:
        """From when on it is stuck, and of when the oldest value is that is still worth telling.

        It is stuck later than a block can come that is ended at its limit. A value is old when its
        kind could have come twice.
        """
        plan = self._plan
        times = [_unix(each) for each in self._blocks]
        duty = float(plan.get("duty", 1.0))
        gaps = [later - earlier for earlier, later in pairwise(times)]
        gaps = gaps or [(each - state.began) / duty for each in times]
        usual = median(gaps) if gaps else 0.0
        allowed = float(plan.get("block_limit", 0.0) + plan.get("pause", 0.0)) + _LATE
        allowed += (1 - duty) * _USUAL * usual
        began = max(state.resumed or state.began, self._came)
        twice = 2 * len(plan.get("blocks", ())) * usual
        return max([began, *times[-1:]]) + allowed, time.time() - max(twice, allowed)


def _unix(case: CaseEntry) -> float:
    return datetime.fromisoformat(case.time).timestamp()


def _points(case: CaseEntry, place: tuple[str, ...], *, old_names: bool) -> Iterator[Sample]:
    """Latencies and their bounds; sizes are binary in the older names: 4194304 is 4MB."""
    for each in case.samples:
        if each.metric != Metric.LATENCY or each.size is None or each.value is None:
            continue
        labels = (*place, case.benchmark, str(each.size), str(case.num_nodes), each.statistic)
        yield from sample("fabricheck_stress_latency_seconds", each.value * _SECOND, *labels)
        for level, bound in (("warning", each.warning_upper), ("critical", each.upper)):
            if bound is not None:
                yield from sample(f"fabricheck_stress_{level}_seconds", bound * _SECOND, *labels)
        if old_names and each.statistic == "avg" and case.benchmark in _OLD:
            family = FAMILIES[f"mpi_{_OLD[case.benchmark]}_latency_us"]
            yield Sample(family, (_old_size(each.size), str(case.num_nodes)), each.value)


def _old_size(size: int) -> str:
    for factor, unit in ((_MB, "MB"), (1 << 10, "KB")):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


def _related(blocks: Sequence[CaseEntry]) -> float | None:
    """Spearman's correlation of marks and latency, each block's against its own kind's median."""
    kinds: dict[tuple[str, int | None], list[tuple[float, float]]] = {}
    for case in blocks:
        value = {(each.metric, each.statistic): each for each in case.samples}
        marks = value.get((Metric.ECN_RATE, "max"))
        latency = value.get((Metric.LATENCY, "p50"))
        if marks and latency and marks.value is not None and latency.value:
            kind = kinds.setdefault((case.benchmark, latency.size), [])
            kind.append((marks.value, latency.value))
    pairs = [
        (marks, latency / median(each for _, each in kind))
        for kind in kinds.values()
        for marks, latency in kind
    ]
    if len(pairs) < _FEWEST:
        return None
    try:
        return correlation(_ranks([a for a, _ in pairs]), _ranks([b for _, b in pairs]))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(each) + (ordered.count(each) + 1) / 2 for each in values]
