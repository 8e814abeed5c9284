"""Judging all nodes of a job from the snapshots in its working directory, and describing them."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.fabric.carried import carried, describe_priorities
from fabricheck.fabric.counters import Band, CounterPlace, Measure, rows_of
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.health import Reading, judge, missing, read
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import EMPTY_GID, Port, Snapshot, snapshot_of
from fabricheck.fabric.state import compare_nodes, ports_in_use
from fabricheck.judge.levels import Level
from fabricheck.nodes.told import files, read_told
from fabricheck.units import share

BEFORE, AFTER = "before", "after"
"""What ``rank.sh`` calls the moments before the program starts and after its end."""
_IN_SOFTWARE = ("rxe", "rdma_rxe", "siw")

VALUES: Mapping[str, tuple[str, ...]] = {
    "error_ratio": ("loss", "soft_loss"),
    "ce_ratio": ("ecn_share",),
    "ecn_rate": ("ecn",),
    "pause_rate": ("pfc",),
}
"""The bands whose worst reading is recorded, by the metric's name."""

_UNKNOWN = "not available"


@dataclass(frozen=True, slots=True)
class Node:
    """One node's first and last snapshot; the two are one where it was cut short."""

    before: Snapshot
    after: Snapshot

    @property
    def seconds(self) -> float:
        """Time between the two."""
        return self.after.uptime - self.before.uptime


def read_nodes(directory: Path) -> list[Node]:
    """The nodes of a job, by host name.

    Raises:
        FabricheckError: if a file is damaged.
    """
    looks = [
        [snapshot_of(each) for each in read_told(path) if each.moment in (BEFORE, AFTER)]
        for path in files(directory)
    ]
    return [Node(snapshots[0], snapshots[-1]) for snapshots in looks if snapshots]


def common_rate(nodes: Sequence[Node]) -> float | None:
    """The rate in Gbit/s that every active port of a job's cards tells.

    ``None`` where they differ or tell none. A device in software has a rate only for the form.
    """
    rates = {
        port.rate
        for node in nodes
        for port in node.after.ports.values()
        if port.active and port.driver not in _IN_SOFTWARE
    }
    return rates.pop() if len(rates) == 1 else None


def judge_job(nodes: Sequence[Node], limits: Limits) -> list[Finding]:
    """All that is not good about the fabric of a job.

    A job without any snapshot is a finding too: nothing was judged.
    """
    if not nodes:
        return [
            Finding(
                Level.CRITICAL, "fabric health", "", "",
                "no node has left a snapshot of its ports",
                "no rank was started, or not through the suite's wrapper; nothing was judged",
            )
        ]  # fmt: skip
    findings = [finding for node in nodes for finding in _judge_node(node, limits)]
    findings += compare_nodes([node.after for node in nodes], limits)
    hosts = " and ".join(_few([node.after.host for node in nodes]))
    return [
        replace(finding, advice=finding.advice.replace("{hosts}", hosts)) for finding in findings
    ]


def readings(nodes: Sequence[Node], limits: Limits) -> list[Reading]:
    """What every judged counter of every node says."""
    return [
        reading
        for node in nodes
        if node.seconds >= 0
        for reading in read(node.before, node.after, node.seconds, limits)
    ]


def link_use(nodes: Sequence[Node], hosts: Sequence[str], limits: Limits) -> dict[str, str]:
    """What the ports of each host carried, as a share of their rate; unknown where none tells."""
    used = {
        f"{node.after.host} {name}": _carried(node, port)
        for node in nodes
        for name, port in ports_in_use(node.after, limits).items()
    }
    told = {each.partition(" ")[0] for each in used}
    unread = [host for host in hosts if host not in told]
    return used | dict.fromkeys(unread, "unknown, its ports were not read")


def _carried(node: Node, port: Port) -> str:
    moved = carried(node.before.ports.get(port.name), port)
    if not moved or not port.rate or node.seconds <= 0:
        return "unknown, its bytes or its rate were not read"
    full = node.seconds * port.rate * 1e9 / 8
    parts = ", ".join(f"{way} {share(each / full)}" for way, each in sorted(moved.items()))
    return f"{parts} of {port.rate:g} Gbit/s"


def priorities(directory: Path, limits: Limits) -> tuple[str, ...]:
    """In which priority each port of a job has sent, where a driver counts it."""
    try:
        nodes = read_nodes(directory)
    except FabricheckError:
        return ()  # a finding says so
    said = (describe_priorities(node.before, node.after, limits) for node in nodes)
    return tuple(itertools.chain.from_iterable(said))


def _judge_node(node: Node, limits: Limits) -> list[Finding]:
    if node.after.moment != BEFORE:
        return judge(node.before, node.after, node.seconds, limits)
    cut_short = Finding(
        Level.WARNING, "counters", node.after.host, "",
        "there is no snapshot after the run",
        "its ranks were killed before they could take one; ports are judged as they were before it",
    )  # fmt: skip
    return [*judge(node.before, node.before, 0.0, limits), cut_short]


def _few(hosts: Sequence[str]) -> Sequence[str]:
    """The first and the last of many."""
    return hosts if len(hosts) <= 2 else (hosts[0], f"{len(hosts) - 1} other nodes")  # noqa: PLR2004


def worst_readings(readings: Iterable[Reading], limits: Limits) -> dict[str, tuple[float, Band]]:
    """The reading that is worst for its band, by metric; none where no port can tell."""
    worst: dict[str, tuple[float, Band]] = {}
    for reading in readings:
        band = limits.bands[reading.band]
        few = band.measure is Measure.RATIO and 0 < reading.rise < limits.least_events
        if reading.value is None or few:
            continue
        for metric, bands in VALUES.items():
            if reading.band in bands and _badness(reading.value, band) >= _badness(
                *worst.get(metric, (-1.0, band))
            ):
                worst[metric] = (reading.value, band)
    return worst


def describe(snapshots: Sequence[Snapshot], limits: Limits) -> Iterator[str]:
    """A line for each port in use, and one for each set of counters that ports lack."""
    lacking: dict[str, list[str]] = {}
    for snapshot in snapshots:
        for port in ports_in_use(snapshot, limits).values():
            place = f"{snapshot.host} {port.name}"
            yield f"{place}: {_describe_port(port, limits)}"
            if words := _describe_missing(port):
                lacking.setdefault(words, []).append(place)
    if unread := [each.host for each in snapshots if each.log is None]:
        yield f"kernel log {_UNKNOWN} on {', '.join(unread)}: dmesg is not allowed or not there"
    for words, places in lacking.items():
        yield f"counters {_UNKNOWN} on {', '.join(places)}: {words}"


def _badness(value: float, band: Band) -> float:
    return value / (band.critical or band.warning or 1.0)


def _describe_port(port: Port, limits: Limits) -> str:
    rate = f"{port.rate:g} Gbit/s" if port.rate is not None else f"rate {_UNKNOWN}"
    width = f" ({port.width}X{f' {port.speed}' if port.speed else ''})" if port.width else ""
    mtu = f"{port.mtu} B" if port.mtu is not None else _UNKNOWN
    netdev = f" over {port.netdev.name} ({port.netdev.mtu} B)" if port.netdev else ""
    return ", ".join(
        [
            f"{port.state or f'state {_UNKNOWN}'}, {port.link_layer or 'link layer unknown'}",
            f"{rate}{width}",
            f"RDMA MTU {mtu}{netdev}",
            _describe_gid(port, limits),
            f"{port.driver or 'driver unknown'} {port.driver_version}",
            f"firmware {port.firmware or _UNKNOWN}{f' of {port.board}' if port.board else ''}",
        ]
    )


def _describe_gid(port: Port, limits: Limits) -> str:
    filled = {index: gid for index, gid in port.gids.items() if gid.address != EMPTY_GID}
    index = limits.gid_index if limits.gid_index is not None else next(iter(filled), 0)
    gid = filled.get(index)
    kind = f" ({gid.kind})" if gid and gid.kind else ""
    return f"GID {index} {gid.address if gid else 'empty'}{kind}"


def _describe_missing(port: Port) -> str:
    """The counters that a port lacks; a place is named once where nothing of it is there."""
    lacking = missing(port)
    words = []
    for place in CounterPlace:
        names = [row.name for row in lacking if row.place is place]
        known = [row for row in rows_of(port.driver) if row.place is place and row.rules]
        if names and len(names) == len(known):
            words.append(f"all of {place}")
        else:
            words += names
    return ", ".join(words)
