"""Judging what ports are: there, active, as fast and as wide as expected, with addresses."""

from collections.abc import Iterator, Mapping, Sequence

from fabricheck.fabric.finding import Finding
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import EMPTY_GID, Port, Snapshot
from fabricheck.judge.levels import Level

# An InfiniBand port has four lanes; cables that split a port of these speeds or newer leave two.
_LANES = 4
_SPLIT = 2
_SPEEDS_THAT_SPLIT = ("HDR", "NDR", "XDR")
_SITE = "correct the site file or the fabric"


def ports_in_use(snapshot: Snapshot, limits: Limits) -> Mapping[str, Port]:
    """The ports that programs use: those that the site names, or all that are active.

    Where none is active it is all of them, so that a node's only port is not overlooked.
    """
    if limits.devices:
        return {name: port for name, port in snapshot.ports.items() if name in limits.devices}
    active = {name: port for name, port in snapshot.ports.items() if port.active}
    return active or snapshot.ports


def judge_state(before: Snapshot, after: Snapshot, limits: Limits) -> Iterator[Finding]:
    """What is not good about a node's ports, at the end of a run and on the way there."""
    yield from _absent(after, limits)
    used = dict(ports_in_use(after, limits))
    # A port that was active and is no more is in use, whatever other port still is.
    used |= {name: port for name, port in after.ports.items() if _was_active(before, name)}
    for name, port in used.items():
        if port.active:
            yield from _flapped(before, after.host, port)
            yield from _slow(after.host, port, limits)
            yield from _wrong_gid(after.host, port, limits)
        else:
            yield _down(after.host, port, was_active=_was_active(before, name))


def compare_nodes(snapshots: Sequence[Snapshot], limits: Limits) -> Iterator[Finding]:
    """What differs between the nodes of a job, and should not."""
    ports = [
        (snapshot.host, port)
        for snapshot in snapshots
        for port in ports_in_use(snapshot, limits).values()
        if port.active
    ]
    yield from _differ("rate", [(host, f"{p.rate:g} Gbit/s") for host, p in ports if p.rate])
    yield from _differ("RDMA MTU", [(host, f"{p.mtu} B") for host, p in ports if p.mtu])
    drivers = [(host, f"{p.driver} {p.driver_version}") for host, p in ports if p.driver]
    yield from _differ("driver", drivers)
    for board in sorted({port.board for _, port in ports}):
        firmware = [(host, p.firmware) for host, p in ports if p.board == board and p.firmware]
        yield from _differ(f"firmware of {board}" if board else "firmware", firmware)


def _was_active(before: Snapshot, name: str) -> bool:
    return name in before.ports and before.ports[name].active


def _absent(after: Snapshot, limits: Limits) -> Iterator[Finding]:
    present = ", ".join(after.ports) or "none"
    if not after.ports:
        yield Finding(
            Level.CRITICAL, "RDMA device", after.host, "",
            "there is none",
            "the card is gone, its driver is not loaded, or the job may not see it",
        )  # fmt: skip
        return
    for name in limits.devices:
        if name not in after.ports:
            yield Finding(
                Level.CRITICAL, "RDMA device", after.host, name,
                f"missing, the node has {present}",
                f"the card is gone or has another name: {_SITE} (extras.ucx_net_devices)",
            )  # fmt: skip


def _down(host: str, port: Port, *, was_active: bool) -> Finding:
    how = "was ACTIVE before the run and is " if was_active else "is "
    # The end that was switched off is the cause, the other end only lacks its light.
    cause = port.phys_state == "Disabled"
    netdev = f", {port.netdev.name} is {port.netdev.operstate}" if port.netdev else ""
    return Finding(
        Level.CRITICAL, "link down", host, port.name,
        f"the port {how}{port.state or 'without state'} ({port.phys_state or 'unknown'}{netdev})",
        "it was switched off on this node"
        if cause
        else "look at the cable, the transceiver, the switch port and, on InfiniBand, the subnet "
        "manager",
        badness=1.0 if cause else 0.0,
    )  # fmt: skip


def _flapped(before: Snapshot, host: str, port: Port) -> Iterator[Finding]:
    earlier = before.ports.get(port.name)
    if earlier is None:
        yield Finding(
            Level.CRITICAL, "RDMA device", host, port.name,
            "was not there before the run",
            "the driver was loaded or restarted meanwhile: look at the kernel's log",
        )  # fmt: skip
        return
    if not earlier.active:
        yield Finding(
            Level.CRITICAL, "link down", host, port.name,
            f"the port was {earlier.state or 'without state'} before the run and came up in it",
            "the link is not stable: look at cable, transceiver and the switch's log",
        )  # fmt: skip
    if earlier.netdev and port.netdev:
        start, end = earlier.netdev.carrier_changes, port.netdev.carrier_changes
        if start is not None and end is not None and end > start:
            yield Finding(
                Level.CRITICAL, "link flaps", host, port.name,
                f"the link of {port.netdev.name} came or went {end - start} times in the run",
                "look at cable, transceiver and the switch's log",
            )  # fmt: skip


def _slow(host: str, port: Port, limits: Limits) -> Iterator[Finding]:
    if limits.rate is not None and port.rate is not None and port.rate < limits.rate:
        yield Finding(
            Level.CRITICAL, "link rate", host, port.name,
            f"{port.rate:g} Gbit/s, expected {limits.rate:g}",
            f"the link came up slower: look at cable and switch port, or {_SITE} (link_rate)",
            limits.rate / port.rate,
        )  # fmt: skip
    expected = limits.width if limits.width is not None else _usual_width(port)
    if expected is not None and port.width is not None and port.width < expected:
        yield Finding(
            Level.CRITICAL if limits.width is not None else Level.WARNING,
            "link width", host, port.name,
            f"{port.width}X, expected {expected}X",
            "lanes are lost: reseat or replace the cable; for a split cable set "
            "fabric_health.link_width",
        )  # fmt: skip
    if limits.mtu is not None and port.mtu is not None and port.mtu < limits.mtu:
        netdev = f" ({port.netdev.name} has {port.netdev.mtu} B)" if port.netdev else ""
        yield Finding(
            Level.CRITICAL, "RDMA MTU", host, port.name,
            f"{port.mtu} B{netdev}, expected {limits.mtu} B",
            f"set the MTU of the interface, or {_SITE} (fabric_health.mtu)",
        )  # fmt: skip
    for what, limit, value in (
        ("link rate", limits.rate, port.rate),
        ("link width", limits.width, port.width),
        ("RDMA MTU", limits.mtu, port.mtu),
    ):
        if limit is not None and value is None:
            yield Finding(
                Level.WARNING, what, host, port.name,
                f"not available, expected {limit:g}",
                "nothing proves what the site file expects; ibv_devinfo shows the MTU on "
                "InfiniBand",
            )  # fmt: skip


def _usual_width(port: Port) -> int | None:
    """The lanes that an InfiniBand port should have; RoCE has any number, by its speed."""
    if port.link_layer != "InfiniBand":
        return None
    return _SPLIT if port.speed in _SPEEDS_THAT_SPLIT else _LANES


def _wrong_gid(host: str, port: Port, limits: Limits) -> Iterator[Finding]:
    filled = [index for index, gid in port.gids.items() if gid.address != EMPTY_GID]
    if not filled:
        yield Finding(
            Level.CRITICAL, "GID", host, port.name,
            "the port has no address",
            "give its network interface an address",
        )  # fmt: skip
        return
    if limits.gid_index is None or port.link_layer == "InfiniBand":
        return
    gid = port.gids.get(limits.gid_index)
    if limits.gid_index not in filled:
        there = ", ".join(f"{index}: {port.gids[index].address}" for index in filled)
        yield Finding(
            Level.CRITICAL, "GID", host, port.name,
            f"index {limits.gid_index} {'is empty' if gid else 'does not exist'} (there are "
            f"{there})",
            "give the interface the address that it lacks, or correct extras.gid_index in the "
            "site file",
        )  # fmt: skip
    elif gid and gid.kind and gid.kind != "RoCE v2":
        yield Finding(
            Level.WARNING, "GID", host, port.name,
            f"index {limits.gid_index} is of type {gid.kind}, which no router forwards",
            "choose the index of a RoCE v2 address as extras.gid_index in the site file",
        )  # fmt: skip


def _differ(what: str, values: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    hosts: dict[str, list[str]] = {}
    for host, value in values:
        names = hosts.setdefault(value, [])
        if host not in names:
            names.append(host)
    if len(hosts) > 1:
        told = "; ".join(f"{value} on {', '.join(names)}" for value, names in hosts.items())
        yield Finding(
            Level.WARNING, f"different {what}", "", "", told,
            "make the nodes of a job equal: their results can't be compared",
        )  # fmt: skip
