"""Judging a node's ports from what they said before and after a run."""

from collections.abc import Iterator
from dataclasses import dataclass

from fabricheck.fabric.counter import Band, Counter, Measure
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.port import Port, Snapshot
from fabricheck.fabric.state import judge_state, ports_in_use
from fabricheck.fabric.table import KERNEL_DRIVERS, find, rows_of
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
    for name, port in ports_in_use(after, limits).items():
        if earlier := before.ports.get(name):
            findings += _strangers(after.host, port)
            findings += _backwards(after.host, earlier, port, limits)
            findings += _at_ceiling(after.host, earlier, port, limits)
    for reading in read(before, after, seconds, limits):
        findings += _judge_reading(reading, limits)
    return findings


def read(before: Snapshot, after: Snapshot, seconds: float, limits: Limits) -> Iterator[Reading]:
    """What each judged counter of the ports in use says about the time between two snapshots."""
    for name, port in ports_in_use(after, limits).items():
        if not (earlier := before.ports.get(name)):
            continue
        for (place, counter), value in port.counters.items():
            row = find(port.driver, place, counter)
            start = earlier.counters.get((place, counter))
            if row is None or counter in limits.ignore or start is None or value < start:
                continue
            for rule in row.rules:
                rise = value - start
                packets = _packets(earlier, port, rule.of) if rule.of else None
                compared = _compare(limits.bands[rule.band].measure, rise, seconds, packets)
                yield Reading(
                    after.host, name, row, counter, rule.band, rise, compared, packets
                )  # fmt: skip


def missing(port: Port) -> list[Counter]:
    """Judged counters of the table that a port doesn't have: not available, and not zero.

    A row with ``{n}`` is there when the port has one of its numbers.
    """
    return [
        row
        for row in rows_of(port.driver)
        if row.rules
        and not any(row.place is place and row.fits(known) for place, known in port.counters)
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
    few = band.measure is Measure.RATIO and reading.rise < limits.least_events
    if few:
        return
    if reading.value is None:
        yield Finding(
            Level.WARNING, reading.name, reading.host, reading.port,
            f"rose by {reading.rise}, and nothing tells of how many packets",
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


def _strangers(host: str, port: Port) -> Iterator[Finding]:
    if port.driver not in KERNEL_DRIVERS:
        yield Finding(
            Level.WARNING, "counters", host, port.name,
            f"nothing judges those of driver {port.driver or 'unknown'}, it is not in the table "
            f"({', '.join(KERNEL_DRIVERS)})",
            "add its counters to the table (docs/reference/fabric-health.md)",
        )  # fmt: skip


def _backwards(host: str, before: Port, after: Port, limits: Limits) -> Iterator[Finding]:
    for (place, name), value in after.counters.items():
        start = before.counters.get((place, name))
        row = find(after.driver, place, name)
        if start is None or row is None or not row.rules or name in limits.ignore:
            continue
        if value < start:
            yield Finding(
                Level.WARNING, name, host, after.name,
                f"counter went back from {start} to {value}",
                "it was reset or began again, so it says nothing about this run; run again",
            )  # fmt: skip
    lost = [
        name
        for (place, name), _ in before.counters.items()
        if (place, name) not in after.counters and (row := find(after.driver, place, name))
        if row.rules and name not in limits.ignore
    ]
    if lost:
        yield Finding(
            Level.WARNING, "counters", host, after.name,
            f"{', '.join(lost)} could be read before the run and not after it",
            "the driver or the port was restarted: look at the kernel's log",
        )  # fmt: skip


def _at_ceiling(host: str, before: Port, after: Port, limits: Limits) -> Iterator[Finding]:
    for (place, name), value in before.counters.items():
        row = find(after.driver, place, name)
        if row is None or row.ceiling is None or name in limits.ignore:
            continue
        if value == row.ceiling == after.counters.get((place, name)):
            yield Finding(
                Level.WARNING, name, host, after.name,
                f"stands at {value}, the highest that it can count to",
                "it hides what happens now: reset the port's counters (perfquery -R)",
            )  # fmt: skip
