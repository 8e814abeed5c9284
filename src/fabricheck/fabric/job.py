"""Judging all nodes of a job from the snapshots in its working directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fabricheck.fabric.counter import Role
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.health import Reading, judge, read
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.port import Port, Snapshot
from fabricheck.fabric.snapshot import snapshot_of
from fabricheck.fabric.state import compare_nodes, ports_in_use
from fabricheck.fabric.table import find
from fabricheck.judge.levels import Level
from fabricheck.nodes.told import files, read_told
from fabricheck.units import share

BEFORE, AFTER = "before", "after"
"""What ``rank.sh`` calls the moments before the program starts and after its end."""
_IN_SOFTWARE = ("rxe", "rdma_rxe", "siw")
# Direction, and bytes of one count.
_CARRIED: Final[Mapping[Role | None, tuple[str, int]]] = {
    Role.BYTES_SENT: ("sent", 1),
    Role.WORDS_SENT: ("sent", 4),
    Role.BYTES_RECEIVED: ("received", 1),
    Role.WORDS_RECEIVED: ("received", 4),
}


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
    findings: list[Finding] = []
    for node in nodes:
        findings += _judge_node(node, limits)
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
    before = node.before.ports.get(port.name)
    earlier = before.counters if before else {}
    carried: dict[str, int] = {}
    for (place, name), value in port.counters.items():
        row = find(port.driver, place, name)
        start = earlier.get((place, name), value + 1)
        if row and row.role in _CARRIED and value >= start and value != row.ceiling:
            way, factor = _CARRIED[row.role]
            carried[way] = max((value - start) * factor, carried.get(way, 0))
    if not carried or not port.rate or node.seconds <= 0:
        return "unknown, its bytes or its rate were not read"
    full = node.seconds * port.rate * 1e9 / 8
    parts = ", ".join(f"{way} {share(each / full)}" for way, each in sorted(carried.items()))
    return f"{parts} of {port.rate:g} Gbit/s"


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
