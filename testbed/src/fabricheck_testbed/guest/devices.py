"""The guest's network: one card to the testbed, and cables with a Soft-RoCE device at each end.

Each cable joins a card of rx1 to that of rx2 with the same number; of more nodes, a bridge joins
them, a switch of its own for each number, in a namespace apart, since a node has no interfaces of a
switch. All cards are in one network namespace, because rxe works only in the first one. The
link-local addresses make packets cross the cables nevertheless: their routes belong to an
interface.
"""

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fabricheck_testbed import layout, libc
from fabricheck_testbed.node import NodeError, ip_batch

MAX_CARDS: Final = 8
_OF_PAIR: Final = 2 * MAX_CARDS
"""Numbers of the cards of two nodes."""
_HOSTS: Final = "abcd"
_GIDS_WANTED: Final = 2
# Room for RoCE's headers beside a payload of 4096 bytes.
CABLE_MTU: Final = 4200
_SWITCHES: Final = "switches"
_ENDS: Final = 2
"""Of a cable; more nodes have a switch."""
_PATIENCE_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05
_CLASSES: Final = Path("/sys/class")
_CLASSES_BY_DEVICE: Final = ("infiniband", "infiniband_verbs", "infiniband_mad")
_DEVICE_FILES: Final = Path("/dev/infiniband")
_NO_GID: Final = "0000:0000:0000:0000:0000:0000:0000:0000"


def cable(node: str, card: int = 0) -> str:
    """The interface below an RDMA device of ``node``."""
    return f"v{_number(node, card)}"


def device(node: str, card: int = 0) -> str:
    """The RDMA device; cards with the same number have other names on the other node."""
    return f"rxe{_number(node, card)}"


def gid_address(cable: str) -> str:
    """The address at index 1 of the GID table above an interface; each cable is a subnet (/112).

    Index 0 is the address that the kernel makes from the interface's own.
    """
    pair, number = divmod(int(cable[1:]), _OF_PAIR)
    return f"fe80::{number // 2:x}:{_HOSTS[2 * pair + number % 2]}/64"


def _number(node: str, card: int) -> int:
    """Even ones are rx1's and odd ones rx2's, however many nodes there are; then those of more."""
    pair, end = divmod(layout.GUEST_NODES.index(node), 2)
    return _OF_PAIR * pair + 2 * card + end


def make_network(ip: str, nodes: Sequence[str], cards: int) -> None:
    """Addresses for the guest and its nodes, and the cables."""
    settings = Path("/proc/sys/net/ipv6/conf")
    # As on other nodes: byte counters move only when somebody communicates.
    (settings / layout.INTERFACE / "disable_ipv6").write_text("1", encoding="ascii")
    for scope in ("all", "default"):
        # No other machine can have our link-local addresses: don't wait for its objection.
        (settings / scope / "accept_dad").write_text("0", encoding="ascii")
    addresses = [
        f"address add {layout.address(host)}/{layout.PREFIX_LENGTH} brd + dev {layout.INTERFACE}"
        for host in (layout.GUEST, *nodes)
    ]
    ends = [cable(node, card) for card in range(cards) for node in nodes]
    switched = len(nodes) > _ENDS
    if switched:
        done = subprocess.run(
            [ip, "netns", "add", _SWITCHES], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise NodeError(f"ip netns add {_SWITCHES}: {done.stderr.strip()}")
    cables = _to_switches if switched else _to_each_other
    ip_batch(
        ip,
        "link set lo up",
        *addresses,
        f"link set {layout.INTERFACE} up",
        *(command for card in range(cards) for command in cables(nodes, card)),
        *(f"link set {name} up" for name in ends),
        *(f"address add {gid_address(name)} dev {name}" for name in ends),
    )
    if switched:
        switches = [command for card in range(cards) for command in _switch(nodes, card)]
        ip_batch(ip, *switches, netns=_SWITCHES)


def _to_each_other(nodes: Sequence[str], card: int) -> Iterator[str]:
    one, other = (cable(node, card) for node in nodes)
    yield f"link add {one} mtu {CABLE_MTU} type veth peer name {other} mtu {CABLE_MTU}"


def _to_switches(nodes: Sequence[str], card: int) -> Iterator[str]:
    for name in (cable(node, card) for node in nodes):
        peer = f"peer name {name} mtu {CABLE_MTU} netns {_SWITCHES}"
        yield f"link add {name} mtu {CABLE_MTU} type veth {peer}"


def _switch(nodes: Sequence[str], card: int) -> Iterator[str]:
    """What joins the cards of a number."""
    yield f"link add rail{card} mtu {CABLE_MTU} type bridge mcast_snooping 0"
    yield f"link set rail{card} up"
    yield from (f"link set {cable(node, card)} master rail{card} up" for node in nodes)


def make_devices(rdma: str, nodes: Sequence[str], cards: int) -> None:
    """An RDMA device at each end of each cable, ready with both GIDs."""
    made = [(node, card) for card in range(cards) for node in nodes]
    for each in made:
        done = subprocess.run(
            [rdma, "link", "add", device(*each), "type", "rxe", "netdev", cable(*each)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NodeError(f"rdma link add {device(*each)}: {done.stderr.strip()}")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while missing := [name for name in (device(*each) for each in made) if not _is_ready(name)]:
        if time.monotonic() > deadline:
            raise NodeError(f"{missing[0]} is not active with {_GIDS_WANTED} GIDs")
        time.sleep(_POLL_SECONDS)


def _is_ready(device: str) -> bool:
    port = _CLASSES / "infiniband" / device / "ports" / "1"
    gids = [
        (port / "gids" / str(index)).read_text("ascii").strip() for index in range(_GIDS_WANTED)
    ]
    return "ACTIVE" in (port / "state").read_text("ascii") and _NO_GID not in gids


def show_only(node: str, cards: int) -> None:
    """In the mount namespace of ``node``: hide the other node's RDMA devices."""
    own = {device(node, card) for card in range(cards)}
    shown = Path("/run/infiniband")
    kept = {"rdma_cm", *own}
    for name in _CLASSES_BY_DEVICE[1:]:
        for entry in (_CLASSES / name).iterdir():
            named = entry / "ibdev"
            if named.exists() and named.read_text("ascii").strip() in own:
                kept.add(entry.name)
    for name in _CLASSES_BY_DEVICE:
        target = shown / name
        target.mkdir(parents=True)
        for entry in (_CLASSES / name).iterdir():
            if entry.name in kept:
                (target / entry.name).symlink_to(entry.resolve())
            elif entry.is_file():
                shutil.copyfile(entry, target / entry.name)
        libc.mount(str(target), str(_CLASSES / name), None, libc.MS_BIND)
    target = shown / "dev"
    target.mkdir()
    for entry in _DEVICE_FILES.iterdir():
        if entry.name in kept:
            status = entry.stat()
            os.mknod(target / entry.name, stat.S_IFCHR | 0o666, status.st_rdev)
            (target / entry.name).chmod(0o666)
    libc.mount(str(target), str(_DEVICE_FILES), None, libc.MS_BIND)
