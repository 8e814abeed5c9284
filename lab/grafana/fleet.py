"""A simulated fleet of 400 nodes with 8 cards, over an hour and over a month of nights.

What rules record is written as they would record it; so are alerts.
"""

import math
import random
from collections.abc import Iterator
from enum import StrEnum
from typing import IO, Final, NamedTuple

from fabricheck.fabric.counters import BANDS
from fabricheck.monitor.ports import limits_of
from fabricheck.monitor.spread import EDGES

NODES: Final = 400
CARDS: Final = 8
LEAF: Final = 40
"""Nodes of a leaf."""
HOUR: Final = 3600
DAY: Final = 24 * HOUR
_SYSTEM: Final = "roce400g-400n"
_STRESS: Final = (
    f'name="weekly",system="{_SYSTEM}",partition="compute",environment="openmpi",transport="rc_x"'
)
_BLOCKS: Final = (
    ("allreduce", 4194304, 2.1e-3, 4e-3),
    ("allreduce", 1048576, 6.3e-4, 1.2e-3),
    ("allreduce", 65536, 8.4e-5, 2e-4),
    ("bcast", 4194304, 9e-4, 2e-3),
    ("alltoall", 1048576, 9.1e-3, 2e-2),
    ("allgather", 131072, 7.3e-4, 2e-3),
    ("reduce", 1048576, 4.4e-4, 1e-3),
)


class State(StrEnum):
    """What the fleet is like."""

    HEALTHY = "healthy"
    LEAF_DOWN = "leaf-down"
    ACCEPTANCE = "acceptance"


class Span(NamedTuple):
    """From when to when, and how often, in seconds of Unix."""

    begin: int
    end: int
    step: int


def write(file: IO[str], state: State, span: Span, *, nights: bool) -> None:
    """Write what was scraped and recorded, as OpenMetrics."""
    rows: dict[str, list[tuple[str, list[float]]]] = {}
    times = range(span.begin, span.end + 1, span.step)
    made = _nights(state, span) if nights else _hour(state, span)
    for name, labels, course in made:
        rows.setdefault(name, []).append((labels, course))
    for name, series in rows.items():
        file.write(f"# TYPE {name} unknown\n")
        for labels, course in series:
            for at, value in zip(times, course, strict=True):
                if not math.isnan(value):
                    file.write(f"{name}{{{labels}}} {value:.12g} {at}\n")
    file.write("# EOF\n")


Row = tuple[str, str, list[float]]


def _hour(state: State, span: Span) -> Iterator[Row]:
    yield from _ports(state, span)
    yield from _stress(state, span)
    yield from _alerts(state, span)
    yield from _night(state, span)
    yield from _campaign(state, span, 0.4, 1)


def _of(span: Span, value: float) -> list[float]:
    return [value] * len(range(span.begin, span.end + 1, span.step))


def _since(span: Span, share: float, before: float, after: float) -> list[float]:
    """One value in the first share of the time, and then another."""
    every = _of(span, before)
    first = int(share * len(every))
    return every[:first] + [after] * (len(every) - first)


def _wave(span: Span, low: float, high: float, seed: int) -> list[float]:
    chance = random.Random(seed)  # noqa: S311 - no secret
    shift = chance.random() * 6
    return [
        low
        + (high - low) * (0.5 + 0.5 * math.sin(shift + each / 9)) * (0.8 + 0.4 * chance.random())
        for each, _ in enumerate(_of(span, 0))
    ]


def _ports(state: State, span: Span) -> Iterator[Row]:
    busy = 3.0 if state is State.ACCEPTANCE else 1.0
    for node in range(NODES):
        leaf, name = f"leaf{node // LEAF + 1:02}", f"n{node + 1:03}"
        down = state is State.LEAF_DOWN and node // LEAF == 4
        up, active = (0.6, 0) if down else (1.0, CARDS)
        yield ("fabricheck_ports", f'node="{name}"', _of(span, CARDS))
        yield ("fabricheck:ports_active:sum", f'job="fabricheck-ports",leaf="{leaf}",node="{name}"',
               _since(span, up, CARDS, active))  # fmt: skip
        yield "up", f'job="fabricheck-ports",instance="{name}:9105"', _of(span, 1)
        for card in range(CARDS):
            place = f'node="{name}",device="mlx5_{card}",port="1"'
            where = f'leaf="{leaf}",{place}'
            there = _since(span, up, 1, 0 if down else 1)
            yield "fabricheck_port_active", f'job="fabricheck-ports",{where}', there
            yield "fabricheck_port_missing", place, _of(span, 0)
            if down:
                yield "fabricheck:port:down", where, _since(span, up, math.nan, 1)
            seed = node * CARDS + card
            loud = 6.0 if seed % 397 == 5 else 1.0
            for kind, high, more in (
                ("ecn_marked_packets", 60 * busy * loud, ""),
                ("pause_frames", 4 * busy * loud, ',direction="received"'),
                ("sent_bytes", 2e10 * busy, ""),
                ("retransmissions", 0.02 * loud, ',band="retry"'),
                ("cnp_sent_packets", 50 * busy, ""),
                ("cnp_handled_packets", 45 * busy, ""),
            ):
                course = _wave(span, high / 9, high, seed)
                moving = [a * b for a, b in zip(course, there, strict=True)]
                yield f"fabricheck:{kind}:rate5m", where + more, moving
    for band, level, limit in limits_of(BANDS):
        yield (
            "fabricheck_band_limit",
            f'node="n001",band="{band}",level="{level}"',
            _of(span, limit),
        )
    for port in (1, 2):
        course = [3000.0 * port * each for each, _ in enumerate(_of(span, 0))]
        yield "nexus_pfc_rx_frames", f'interface="ii1/1/{port}"', course


def _stress(state: State, span: Span) -> Iterator[Row]:
    runs = 1.0 if state is not State.ACCEPTANCE else 0.0
    stays = [1.0] * 10 if runs else [0.4]
    for doing in ("running", "waiting", "paused"):
        now = (doing == "running") == bool(runs) and (runs or doing == "paused")
        before = float(doing == "running")
        course = _since(span, 0.4, before, float(now))
        yield "fabricheck_stress_state", f'{_STRESS},state="{doing}"', course
    end = stays[0]
    yield "fabricheck_stress_running", _STRESS, _since(span, end, 1, runs)
    count = len(_of(span, 0))
    grows = [6.0 * min(each, int(end * count)) for each in range(count)]
    last = [span.begin + span.step * min(each, int(end * count)) - 7.0 for each in range(count)]
    yield "fabricheck_stress_last_block_timestamp_seconds", _STRESS, last
    for node in range(NODES):
        due = [float(at + HOUR) for at in range(span.begin, span.end + 1, span.step)]
        labels = f'{_STRESS},node="n{node + 1:03}"'
        yield "fabricheck_stress_node_due_timestamp_seconds", labels, due
    bad = 40 if state is State.LEAF_DOWN else 0
    yield "fabricheck_stress_blocks_total", f'{_STRESS},level="good"', grows
    yield (
        "fabricheck_stress_blocks_total", f'{_STRESS},level="untrusted"', _since(span, 0.6, 0, bad)
    )  # fmt: skip
    for node in range(8):
        dead = float(state is State.LEAF_DOWN and node > 5)
        yield (
            "fabricheck_stress_node_dead", f'{_STRESS},node="n{node + 159:03}"',
            _since(span, 0.62, 0, dead),
        )  # fmt: skip
    if runs:
        yield "fabricheck_stress_ecn_latency_correlation", _STRESS, _wave(span, 0.6, 0.9, 3)
    gone = math.nan
    for operation, size, usual, critical in _BLOCKS:
        kind = f'{_STRESS},operation="{operation}",size_bytes="{size}",nodes="8"'
        slow = 3.0 if state is State.LEAF_DOWN else 1.0
        course = [
            value * (slow if at > 0.6 * count else 1.0) if at < end * count else gone
            for at, value in enumerate(_wave(span, usual, usual * 1.3, size))
        ]
        for statistic in ("avg", "p50"):
            labels = f'{kind},statistic="{statistic}"'
            yield "fabricheck_stress_latency_seconds", labels, course
            edges = [gone if math.isnan(value) else critical for value in course]
            yield "fabricheck_stress_critical_seconds", labels, edges
        high = [3 * value for value in course]
        yield "fabricheck_stress_greatest_latency_seconds", kind, high
        for edge in (*EDGES, math.inf):
            inside = [sum(value <= edge for value in course[: at + 1]) * 6.0 for at in range(count)]
            told = "+Inf" if edge == math.inf else repr(edge)
            bucket = f'{kind},le="{told}"'
            yield "fabricheck_stress_block_latency_seconds_bucket", bucket, inside


def _alerts(state: State, span: Span) -> Iterator[Row]:
    def fires(name: str, severity: str, since: float, labels: str) -> Row:
        told = f'alertname="{name}",alertstate="firing",severity="{severity}"'
        return "ALERTS", f"{told},{labels}", _since(span, since, math.nan, 1)

    if state is State.LEAF_DOWN:
        for card in range(CARDS):
            where = f'job="fabricheck-ports",leaf="leaf05",device="mlx5_{card}"'
            yield fires("LeafDown", "critical", 0.62, where)
        for node in range(4 * LEAF, 5 * LEAF):
            where = f'leaf="leaf05",node="n{node + 1:03}",device="mlx5_0",port="1"'
            yield fires("LinkDown", "critical", 0.62, where)
        yield fires("StressFailing", "warning", 0.7, 'name="weekly"')


def _night(state: State, span: Span) -> Iterator[Row]:
    passed = 0 if state is State.LEAF_DOWN else 1
    yield "fabricheck_night_verdict_passed", f'system="{_SYSTEM}"', _of(span, passed)
    for source in ("run", "night", "schedule", "stress"):
        yield "fabricheck_exporter_source_up", f'source="{source}"', _of(span, 1)


def _campaign(state: State, span: Span, since: float, until: float) -> Iterator[Row]:
    """The runs of an acceptance, from one share of the time to another."""
    if state is State.ACCEPTANCE:
        on = _since(span, since, math.nan, 1)
        off = _since(span, until, 0, math.nan)
        labels = f'campaign="fw28",system="{_SYSTEM}"'
        yield "fabricheck_acceptance_info", labels, [a + b for a, b in zip(on, off, strict=True)]


def _nights(state: State, span: Span) -> Iterator[Row]:
    """A month, whose last night is that of the state."""
    bad = {State.HEALTHY: 0, State.LEAF_DOWN: 61, State.ACCEPTANCE: 0}[state]
    share = 1 - 0.5 * DAY / (span.end - span.begin)
    yield (
        "fabricheck_night_verdict_passed", f'system="{_SYSTEM}"',
        _since(span, share, 1, float(state is not State.LEAF_DOWN)),
    )  # fmt: skip
    yield from _campaign(state, span, 0.8, 0.9)
    ended = [at - (at - span.begin) % DAY for at in range(span.begin, span.end + 1, span.step)]
    labels = f'system="{_SYSTEM}"'
    yield "fabricheck_night_run_timestamp_seconds", labels, [float(at) for at in ended]
    overdue = _of(span, span.end + 19 * HOUR)
    yield "fabricheck_night_overdue_timestamp_seconds", "", overdue
    for step, code in (("run", 0), ("trend", 0), ("report", 0)):
        yield "fabricheck_night_step_exit_code", f'step="{step}"', _of(span, code)
    for status, usual, now in (
        ("good", 3250, 3250 - bad), ("warning", 50, 50), ("critical", 0, bad), ("untrusted", 0, 0)
    ):  # fmt: skip
        labels = f'system="{_SYSTEM}",status="{status}"'
        yield "fabricheck_night_cases", labels, _since(span, share, usual, now)
    before, after = ("5.0.6", "5.0.8") if state is State.ACCEPTANCE else ("5.0.8", "5.0.8")
    changed = before != after
    # An acceptance measures both sides in turn: the old version is there to its end.
    for version, low, high in ((before, 1, 1), (after, math.nan, 1))[: 1 + changed]:
        both = (low, high) if changed else (1, 1)
        place = f'system="{_SYSTEM}",partition="compute",environment="openmpi",mpi="openmpi"'
        labels = f'{place},mpi_version="{version}",ucx_version="1.20.1"'
        yield "fabricheck_software_info", labels, _since(span, 0.8, *both)
    chance = random.Random(7)  # noqa: S311 - no secret
    for number in range(330):
        benchmark = ("allreduce", "latency", "bw", "bcast", "alltoall")[number % 5]
        placement = f"rc_x-{2 + number // 5}n"
        base = f'system="{_SYSTEM}",partition="compute",environment="openmpi"'
        place = f'{base},benchmark="{benchmark}",placement="{placement}"'
        failed = number < bad
        status = "critical" if failed else "warning" if number % 66 == 9 else "good"
        told = f'{place},status="{status}"'
        yield "fabricheck_case_status", told, _since(span, share, math.nan, 1)
        level = chance.random() * 0.4
        ratio = _wave(span, level, level + 0.1, number)
        if failed:
            ratio = _since(span, share, ratio[0], 1.5 + chance.random())
        yield "fabricheck_case_reference_ratio", place, ratio
        if benchmark in ("allreduce", "latency"):
            size, usual = (1048576, 6e-4) if benchmark == "allreduce" else (8, 2e-6)
            grown = usual * (1 + number / 100)
            course = _wave(span, grown, grown * 1.04, number)
            if changed:
                faster = _since(span, 0.8, 1.0, 0.9)
                course = [a * b for a, b in zip(course, faster, strict=True)]
            labels = f'{place},statistic="p50",size_bytes="{size}"'
            yield "fabricheck_case_latency_seconds", labels, course
    if state is State.LEAF_DOWN:
        for name in ("FabricCritical", "LeafDown", "LinkDown"):
            labels = f'alertname="{name}",alertstate="firing",severity="critical"'
            yield "ALERTS", labels, _since(span, share, math.nan, 1)
