"""Judging a node's ports from what they said before and after a run."""

from collections.abc import Iterator
from dataclasses import dataclass

from fabricheck.fabric.carried import judge_priorities
from fabricheck.fabric.counters import KERNEL_DRIVERS, Band, Counter, Measure, find, rows_of
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.kernel_log import judge_log
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import Port, Snapshot
from fabricheck.fabric.state import judge_state, ports_in_use
from fabricheck.judge.levels import Level
from fabricheck.units import share

_MICROSECONDS = 1_000_000
# The kernel tells its uptime in hundredths of a second.
_TICK = 0.01


@dataclass(frozen=True, slots=True)
class Reading:
    """One counter's value under one rule.

    Attributes:
        host: the node.
        port: the port, as ``mlx5_0:1``.
        counter: its row in the table.
        name: its name, with the number where the row has ``{n}``.
        band: name of the band.
        rise: how far the counter rose.
        value: what is compared with the band; ``None`` where it can't be told: a share of packets
            that nobody counts.
        packets: for a share of packets, how many there were.
    """

    host: str
    port: str
    counter: Counter
    name: str
    band: str
    rise: int
    value: float | None
    packets: int | None = None


def judge(before: Snapshot, after: Snapshot, seconds: float, limits: Limits) -> list[Finding]:
    """Judge one node: the state of its ports, and how far their counters rose.

    Args:
        before: the node before the run.
        after: the node after it.
        seconds: the time between the two.
        limits: what the partition expects.

    Returns:
        All that is not good, with ``{hosts}`` in the advice for the nodes of the job.
    """
    findings = [*judge_state(before, after, limits)]
    if seconds < 0:
        findings.append(
            Finding(
                Level.CRITICAL, "uptime", after.host, "",
                f"{after.uptime:g} s after the run, {before.uptime:g} s before it",
                "the node was booted in between: look at its console and power",
            )
        )  # fmt: skip
        return findings
    findings += judge_log(before, after)
    findings += judge_priorities(before, after, limits)
    for name, port in ports_in_use(after, limits).items():
        if earlier := before.ports.get(name):
            findings += _unusable(after.host, earlier, port, limits)
    for reading in read(before, after, seconds, limits):
        findings += _judge_reading(reading, limits)
    return findings


def read(before: Snapshot, after: Snapshot, seconds: float, limits: Limits) -> Iterator[Reading]:
    """What each judged counter of the ports in use says about the time between two snapshots."""
    for name, port in ports_in_use(after, limits).items():
        if not (earlier := before.ports.get(name)):
            continue
        for row, counter, start, value in _judged(earlier, port, limits):
            if start is None or value is None or value < start:
                continue
            for rule in row.rules:
                packets = _packets(earlier, port, rule.of) if rule.of else None
                measure, rise = limits.bands[rule.band].measure, value - start
                compared = _compare(measure, rise, seconds, packets)
                yield Reading(after.host, name, row, counter, rule.band, rise, compared, packets)


def _judged(
    before: Port, after: Port, limits: Limits
) -> Iterator[tuple[Counter, str, int | None, int | None]]:
    """The counters that the site judges, with the value of each before and after, if it had one."""
    for key in {**after.counters, **before.counters}:
        row = find(after.driver, *key)
        if row and key[1] not in limits.ignore:
            yield row, key[1], before.counters.get(key), after.counters.get(key)


def missing(port: Port) -> list[Counter]:
    """Judged counters of the table that a port doesn't have: not available, and not zero.

    A row with ``{n}`` is there when the port has one of its numbers.
    """
    return [
        row
        for row in rows_of(port.driver)
        if row.rules
        and not any(
            row.place is place and row.number(known) is not None for place, known in port.counters
        )
    ]


def _compare(measure: Measure, rise: int, seconds: float, packets: int | None) -> float | None:
    if measure is Measure.RATE:
        return rise / max(seconds, _TICK)
    if measure is Measure.PAUSED:
        return rise / _MICROSECONDS / max(seconds, _TICK)
    if measure is Measure.RISE:
        return float(rise)
    return rise / packets if packets else None


def _packets(before: Port, after: Port, names: tuple[str, ...]) -> int | None:
    """How many packets the counters of these names saw; ``None`` if the port has none of them."""
    rises = [
        value - before.counters[key]
        for key, value in after.counters.items()
        if key[1] in names and key in before.counters
    ]
    return sum(rises) if rises else None


def _judge_reading(reading: Reading, limits: Limits) -> Iterator[Finding]:
    band = limits.bands[reading.band]
    if band.measure is Measure.RATIO and reading.rise < limits.least_events:
        return
    if reading.value is None:
        yield Finding(
            Level.WARNING, reading.name, reading.host, reading.port,
            f"rose by {reading.rise}; the number of packets is unknown",
            reading.counter.advice,
        )  # fmt: skip
        return
    for level, limit, edge in (
        (Level.CRITICAL, band.critical, None),
        (Level.WARNING, band.warning, band.good),
    ):
        if limit is not None and (reading.value > limit or reading.value == edge):
            side = "above" if edge is None else "from"
            yield Finding(
                level, reading.name, reading.host, reading.port,
                f"{_amount(band, reading)} ({level} {side} {_limit(band, limit)})",
                reading.counter.advice,
                reading.value / limit if limit else reading.value,
            )  # fmt: skip
            return


def _amount(band: Band, reading: Reading) -> str:
    value = reading.value or 0.0
    if band.measure is Measure.RATE:
        return f"{value:.4g}/s"
    if band.measure is Measure.RATIO:
        return f"{share(value)} of packets, {reading.rise} of {reading.packets}"
    if band.measure is Measure.PAUSED:
        return f"{share(value)} of the time"
    return f"rose by {reading.rise}"


def _limit(band: Band, limit: float) -> str:
    if band.measure is Measure.RATE:
        return f"{limit:g}/s"
    return f"{limit:g}" if band.measure is Measure.RISE else share(limit)


def _unusable(host: str, before: Port, after: Port, limits: Limits) -> Iterator[Finding]:
    """What keeps counters from being judged."""
    if after.driver not in KERNEL_DRIVERS:
        yield Finding(
            Level.WARNING, "counters", host, after.name,
            f"nothing judges those of driver {after.driver or 'unknown'}, it is not in the table "
            f"({', '.join(KERNEL_DRIVERS)})",
            "add its counters to the table (docs/reference/fabric-health.md)",
        )  # fmt: skip
    lost = []
    for row, name, start, value in _judged(before, after, limits):
        if row.rules and value is None:
            lost.append(name)
        elif row.rules and start is not None and value is not None and value < start:
            yield Finding(
                Level.WARNING, name, host, after.name,
                f"counter went back from {start} to {value}",
                "it was reset or wrapped, so its rise in this run is unknown; run again",
            )  # fmt: skip
        elif value is not None and start == value == row.ceiling:
            yield Finding(
                Level.WARNING, name, host, after.name,
                f"stands at {value}, the highest that it can count to",
                "it hides what happens now: reset the port's counters (perfquery -R)",
            )  # fmt: skip
    if lost:
        yield Finding(
            Level.WARNING, "counters", host, after.name,
            f"{', '.join(lost)} could be read before the run and not after it",
            "the driver or the port was restarted: look at the kernel's log",
        )  # fmt: skip
