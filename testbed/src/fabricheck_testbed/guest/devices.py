"""The guest's network: one card to the testbed, and a cable with a Soft-RoCE device at each end.

Both ends of the cable are in one network namespace, because rxe works only in the first one. The
link-local addresses make packets cross it nevertheless: their routes belong to an interface.
"""

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Final

from fabricheck_testbed import layout, libc
from fabricheck_testbed.node import NodeError, ip_batch

# Of rx1 and of rx2.
CABLES: Final = ("v0", "v1")
DEVICES: Final = ("rxe0", "rxe1")
# GID index 1. Index 0 is the address that the kernel makes from the interface's own.
_GID_ADDRESSES: Final = ("fe80::a/64", "fe80::b/64")
_GIDS_WANTED: Final = 2
# Room for RoCE's headers beside a payload of 4096 bytes.
CABLE_MTU: Final = 4200
_PATIENCE_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05
_CLASSES: Final = Path("/sys/class")
_CLASSES_BY_DEVICE: Final = ("infiniband", "infiniband_verbs", "infiniband_mad")
_DEVICE_FILES: Final = Path("/dev/infiniband")
_NO_GID: Final = "0000:0000:0000:0000:0000:0000:0000:0000"


def cable(node: str) -> str:
    """The interface below the RDMA device of ``node``."""
    return CABLES[layout.GUEST_NODES.index(node)]


def gid_address(node: str) -> str:
    """The address at index 1 of the node's GID table."""
    return _GID_ADDRESSES[layout.GUEST_NODES.index(node)]


def make_network(ip: str) -> None:
    """Addresses for the guest and its nodes, and the cable."""
    settings = Path("/proc/sys/net/ipv6/conf")
    # As on other nodes: byte counters move only when somebody communicates.
    (settings / layout.INTERFACE / "disable_ipv6").write_text("1", encoding="ascii")
    for scope in ("all", "default"):
        # No other machine can have our link-local addresses: don't wait for its objection.
        (settings / scope / "accept_dad").write_text("0", encoding="ascii")
    addresses = [
        f"address add {layout.address(host)}/{layout.PREFIX_LENGTH} brd + dev {layout.INTERFACE}"
        for host in layout.GUEST_HOSTS
    ]
    left, right = CABLES
    ip_batch(
        ip,
        "link set lo up",
        *addresses,
        f"link set {layout.INTERFACE} up",
        f"link add {left} mtu {CABLE_MTU} type veth peer name {right} mtu {CABLE_MTU}",
        *(f"link set {name} up" for name in CABLES),
        *(f"address add {gid_address(node)} dev {cable(node)}" for node in layout.GUEST_NODES),
    )


def make_devices(rdma: str) -> None:
    """An RDMA device at each end of the cable, ready with both GIDs."""
    for device, interface in zip(DEVICES, CABLES, strict=True):
        done = subprocess.run(
            [rdma, "link", "add", device, "type", "rxe", "netdev", interface],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NodeError(f"rdma link add {device}: {done.stderr.strip()}")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while missing := [device for device in DEVICES if not _is_ready(device)]:
        if time.monotonic() > deadline:
            raise NodeError(f"{missing[0]} is not active with {_GIDS_WANTED} GIDs")
        time.sleep(_POLL_SECONDS)


def _is_ready(device: str) -> bool:
    port = _CLASSES / "infiniband" / device / "ports" / "1"
    gids = [
        (port / "gids" / str(index)).read_text("ascii").strip() for index in range(_GIDS_WANTED)
    ]
    return "ACTIVE" in (port / "state").read_text("ascii") and _NO_GID not in gids


def show_only(node: str) -> None:
    """In the mount namespace of ``node``: hide the other node's RDMA device."""
    device = DEVICES[layout.GUEST_NODES.index(node)]
    shown = Path("/run/infiniband")
    kept = {"rdma_cm", device}
    for name in _CLASSES_BY_DEVICE[1:]:
        for entry in (_CLASSES / name).iterdir():
            if (entry / "ibdev").exists() and (entry / "ibdev").read_text(
                "ascii"
            ).strip() == device:
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
