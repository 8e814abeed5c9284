"""What ports carried between two looks, and in which priority it left."""

from collections.abc import Iterator, Mapping
from typing import Final

from fabricheck.fabric.counters import Role, find
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import Port, Snapshot
from fabricheck.fabric.state import ports_in_use
from fabricheck.judge.levels import Level
from fabricheck.units import share

# What is added up, and bytes of one count.
_SENT, _RECEIVED = "sent", "received"
_CARRIED: Final[Mapping[Role | None, tuple[str, int]]] = {
    Role.BYTES_SENT: (_SENT, 1),
    Role.WORDS_SENT: (_SENT, 4),
    Role.BYTES_RECEIVED: (_RECEIVED, 1),
    Role.WORDS_RECEIVED: (_RECEIVED, 4),
}
# A connection is set up in whatever priority the system has.
_LEAST: Final = 1 << 20
_MOST_PART: Final = 0.9


def carried(before: Port | None, after: Port) -> dict[str, int]:
    """Bytes of RDMA by ``sent``, ``received``; neither where no counter has it."""
    found: dict[str, int] = {}
    for role, _, rise in _rises(before, after):
        if role in _CARRIED:
            way, factor = _CARRIED[role]
            found[way] = max(rise * factor, found.get(way, 0))
    return found


def by_priority(before: Port | None, after: Port) -> dict[int, int]:
    """Bytes of everything that left, by priority; empty where the driver does not count so."""
    rises = _rises(before, after)
    return {int(n): rise for role, n, rise in rises if role is Role.PRIORITY_SENT}


def _rises(before: Port | None, after: Port) -> Iterator[tuple[Role | None, str, int]]:
    earlier = before.counters if before else {}
    for (place, name), value in after.counters.items():
        row = find(after.driver, place, name)
        start = earlier.get((place, name), value + 1)
        if row and value >= start and value != row.ceiling:
            yield row.role, row.number(name) or "", value - start


def describe_priorities(before: Snapshot, after: Snapshot, limits: Limits) -> Iterator[str]:
    """A sentence for each port in use whose driver counts what leaves in each priority."""
    for name, port in ports_in_use(after, limits).items():
        left = by_priority(before.ports.get(name), port)
        if total := sum(left.values()):
            used = sorted(((n, number) for number, n in left.items() if n), reverse=True)
            shares = ", ".join(f"{number} {share(n / total)}" for n, number in used)
            yield f"{after.host} {name} sent by priority: {shares}"


def judge_priorities(before: Snapshot, after: Snapshot, limits: Limits) -> Iterator[Finding]:
    """RoCE that did not leave in the priority that the site names, where the driver counts it."""
    if limits.priority is None:
        return
    for name, port in ports_in_use(after, limits).items():
        earlier = before.ports.get(name)
        sent, left = carried(earlier, port).get(_SENT, 0), by_priority(earlier, port)
        found, least = left.get(limits.priority, 0), _MOST_PART * sent
        # Those of a virtual function may stand still beside what it sends.
        is_told = sent >= _LEAST and sum(left.values()) >= least
        if port.link_layer == "Ethernet" and is_told and found < least:
            most = max(left, key=lambda number: left[number])
            yield Finding(
                Level.WARNING, "priority", after.host, name,
                f"RDMA sent {sent} B, in priority {limits.priority} left {found} B, most in {most}",
                "another queue than the site's was measured: mlnx_qos on the port for trust and "
                "DSCP map, traffic_class and service_level in the site file",
                1 - found / sent,
            )  # fmt: skip
