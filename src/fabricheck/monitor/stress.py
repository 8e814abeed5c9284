"""The stress as samples: what its last blocks measured, as long as it runs."""

import contextlib
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import StatisticsError, correlation, median

from fabricheck.benchmarks.metrics import Metric
from fabricheck.errors import FabricheckError
from fabricheck.monitor.catalog import FAMILIES, Sample, Source, sample
from fabricheck.record.entries import Case, from_line
from fabricheck.stress.scheduler import Phase, Standing, scheduler_for
from fabricheck.stress.state import Place, State, places

_SECOND = 1e-6
_ASK_EVERY = 15.0
_LAST = 60
_FEWEST = 8
# A stress is stuck when nothing came for so many times the usual, and a minute at least.
_STUCK = 10
_LEAST_STUCK = 60.0
_OLD = {"allreduce": "allreduce", "bcast": "broadcast", "alltoall": "alltoall",
        "allgather": "allgather", "reduce": "reduce"}  # fmt: skip
_MB = 1 << 20


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
        """What may be said of them now; nothing of a stress that has ended but that it has.

        Raises:
            FabricheckError: for a damaged state.
        """
        old_names = True
        for place in places(self._reports):
            session = (place.state() or State(session="")).session
            follower = self._known.get(place.name)
            if follower is None or follower.session != session:
                follower = self._known[place.name] = _Follower(place, session)
            running = yield from follower.read(old_names=old_names)
            # The other benchmark knows one stress at a time.
            old_names = old_names and not running
        told = [each.running for each in self._known.values() if each.running is not None]
        if told:
            yield Sample(FAMILIES["mpi_stress_test_running"], (), float(any(told)))


class _Follower:
    """What is known of one stress, and how far its record was read."""

    def __init__(self, place: Place, session: str) -> None:
        self._place = place
        self.session = session
        self._offset = 0
        self._seen: set[str] = set()
        self._levels: Counter[str] = Counter()
        self._blocks: deque[Case] = deque(maxlen=_LAST)
        self._latest: dict[tuple[str, tuple[int | None, ...]], Case] = {}
        self._asked = -_ASK_EVERY
        self._standing: Standing | None = None
        self.running: bool | None = None

    def read(self, *, old_names: bool) -> Generator[Sample, None, bool]:
        """Its samples; returns whether it runs and has some values."""
        state = self._place.state() or State(session="")
        self._follow()
        self.running = self._is_running(state)
        name = self._place.name
        if self.running is not None:
            yield from sample("fabricheck_stress_running", self.running, name)
            waiting = self._standing is not None and self._standing.phase is Phase.WAITING
            yield from sample("fabricheck_stress_waiting", waiting and not state.ended, name)
        if self._blocks:
            last = _unix(self._blocks[-1])
            yield from sample("fabricheck_stress_last_block_timestamp_seconds", last, name)
        alive = bool(self.running) and bool(self._blocks)
        if alive:
            yield from self._values(state, old_names=old_names)
        return alive

    def _values(self, state: State, *, old_names: bool) -> Iterator[Sample]:
        name, iteration = self._place.name, max(each.repeat or 0 for each in self._blocks)
        yield from sample("fabricheck_stress_iterations_total", iteration, name)
        yield from sample("fabricheck_stress_restarts_total", state.restarts, name)
        for level, number in self._levels.items():
            yield from sample("fabricheck_stress_blocks_total", number, name, level)
        overdue = _overdue([_unix(each) for each in self._blocks])
        yield from sample("fabricheck_stress_overdue_timestamp_seconds", overdue, name)
        related = _related(self._blocks)
        if related is not None:
            yield from sample("fabricheck_stress_ecn_latency_correlation", related, name)
        points: dict[tuple[str, ...], Sample] = {}
        for case in self._latest.values():
            for each in _points(case, name, old_names=old_names):
                points[(each.family.name, *each.labels)] = each
        yield from points.values()
        if old_names:
            yield Sample(FAMILIES["mpi_stress_test_iteration"], (), float(iteration))
            last = _unix(self._blocks[-1])
            yield Sample(FAMILIES["mpi_benchmark_last_update_timestamp"], (), last)

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
        if not isinstance(entry, Case) or entry.session != self.session or entry.id in self._seen:
            return
        self._seen.add(entry.id)
        self._levels[entry.level] += 1
        self._blocks.append(entry)
        self._latest[(entry.benchmark, tuple(each.size for each in entry.samples))] = entry

    def _is_running(self, state: State) -> bool | None:
        """Whether its job runs; ``None`` if the scheduler does not answer."""
        if state.ended or not state.job:
            return False
        if time.monotonic() - self._asked >= _ASK_EVERY:
            self._asked = time.monotonic()
            try:
                self._standing = scheduler_for(self._place.read_plan()).standing(state.job)
            except FabricheckError:
                self._standing = None
        return self._standing.phase is Phase.RUNNING if self._standing else None


def _unix(case: Case) -> float:
    return datetime.fromisoformat(case.time).timestamp()


def _overdue(times: Sequence[float]) -> float:
    """From when on a stress is stuck whose last blocks came at these times."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return times[-1] + max(_STUCK * median(gaps) if gaps else 0.0, _LEAST_STUCK)


def _points(case: Case, name: str, *, old_names: bool) -> Iterator[Sample]:
    """Latencies and their bounds; sizes are binary in the older names: 4194304 is 4MB."""
    for each in case.samples:
        if each.metric != Metric.LATENCY or each.size is None or each.value is None:
            continue
        labels = (name, case.benchmark, str(each.size), str(case.num_nodes), each.statistic)
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


def _related(blocks: Sequence[Case]) -> float | None:
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
