"""Where a testbed keeps its state, and the names and addresses of its parts.

Kept free of heavy imports: ``testbed exec`` and every node load it.
"""

import json
import os
import stat
from pathlib import Path
from typing import Final

from fabricheck_testbed.errors import TestbedError

PACKAGE: Final = Path(__file__).resolve().parent
"""What started a testbed; two checkouts on one machine are two."""
SWITCH: Final = "switch"
LOGIN: Final = "login"
INTERFACE: Final = "eth0"
# The one to the bridge, on nodes whose eth0 is connected to a leaf.
MANAGEMENT: Final = "mgmt0"
BRIDGE: Final = "br0"
PARTITION: Final = "main"
# The same nodes again: its jobs yield to those of the others.
STRESS_PARTITION: Final = "stress"
# The guest: an emulated machine that is two nodes or more. Under its own name it is reached as a
# whole.
GUEST: Final = "guest"
GUEST_NODES: Final = ("rx1", "rx2", "rx3", "rx4")
GUEST_HOSTS: Final = (GUEST, *GUEST_NODES)
RDMA_PARTITION: Final = "rdma"
# What a site calls it where its nodes have several cards.
CARDS_PARTITION: Final = "cards"
CONTROLLER_PORT: Final = 6817
NODE_PORT: Final = 6818
NETWORK_PREFIX: Final = "10.77.0"
# The third number is that of the leaf.
FABRIC_PREFIX: Final = "10.78"
UPLINK_PREFIX: Final = "10.79"
PREFIX_LENGTH: Final = 24
LOGIN_HOST_NUMBER: Final = 254
GUEST_HOST_NUMBER: Final = 200
MAX_NODES: Final = 64
# sun_path of a unix socket holds 108 bytes with the closing NUL.
MAX_SOCKET_PATH: Final = 107
# Set inside every node, so that the command line can tell that it runs in one.
NODE_VARIABLE: Final = "TESTBED_NODE"
# Set inside every node: the partitions that this testbed has, separated by spaces.
PARTITIONS_VARIABLE: Final = "TESTBED_PARTITIONS"


class Layout:
    """The files of one state directory. Everything that a testbed writes lies below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = root / "lock"
        self.options = root / "testbed.json"
        self.etc = root / "etc"
        self.run = root / "run"
        self.log = root / "log"
        self.lib = root / "lib"
        self.controller_state = root / "slurmctld"
        self.records = root / "pids"
        self.slurm_conf = self.etc / "slurm.conf"
        self.topology_conf = self.etc / "topology.conf"
        self.topology = self.etc / "topology.json"
        self.cgroup_conf = self.etc / "cgroup.conf"
        self.hosts = self.etc / "hosts"
        self.munge_key = self.etc / "munge.key"
        self.package = self.etc / "package"
        self.munge_socket = self.run / "munge.sock"
        self.setgroups_shim = self.lib / "setgroups_shim.so"
        self.guest_settings = self.etc / "guest.json"
        self.guest_initramfs = self.lib / "guest.cpio"
        # Inside the guest, where another file system lies over ``run``.
        self.guest_records = self.run / "pids"
        self.guest_console = self.log / "guest.console"
        self.guest_events = self.log / "guest.events"

    @property
    def directories(self) -> tuple[Path, ...]:
        """The directories below the root, all made by ``up`` and removed by ``down``."""
        return (self.etc, self.run, self.log, self.lib, self.controller_state, self.records)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files directly in the root; the lock comes last."""
        return (self.options, self.lock)

    def boot_id(self, node: str) -> Path:
        """The file that stands in for ``/proc/sys/kernel/random/boot_id`` in ``node``."""
        return self.run / f"boot_id.{node}"

    def output_file(self, name: str) -> Path:
        """What a process of the testbed wrote to its standard output and error.

        Slurm's daemons also keep a log of their own, with times, beside it.
        """
        return self.log / f"{name}.out"


def layout_at(state_dir: Path) -> Layout:
    """The layout of ``state_dir``, made absolute.

    TestbedError if sockets would not fit, or if others may write there: what is kept in it
    says which processes are ended, and what runs with the caller's rights.
    """
    layout = Layout(Path(state_dir).expanduser().resolve())
    _refuse_of_others(layout.root)
    length = len(str(layout.munge_socket).encode())
    if length > MAX_SOCKET_PATH:
        room = MAX_SOCKET_PATH - (length - len(str(layout.root).encode()))
        raise TestbedError(
            f"the state directory {layout.root} has a path of {len(str(layout.root).encode())} "
            f"bytes; unix sockets in it leave room for {room} at most: choose a shorter one with "
            "--state-dir"
        )
    return layout


def _refuse_of_others(root: Path) -> None:
    try:
        found = root.stat()
    except OSError:
        return
    if found.st_uid != os.geteuid():
        raise TestbedError(
            f"the state directory {root} belongs to user {found.st_uid}, and this is user "
            f"{os.geteuid()}: run this as the user who started the testbed, or choose another with "
            "--state-dir"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise TestbedError(
            f"the state directory {root} can be written by others: chmod go-w {root} if nobody "
            "else has put anything there, or choose another with --state-dir"
        )


def refuse_of_other_package(files: Layout) -> None:
    """TestbedError if another installation of this package started what is in the directory."""
    try:
        found = files.package.read_text("utf-8", "surrogateescape")
    except FileNotFoundError:
        return
    if found != str(PACKAGE):
        raise TestbedError(
            f"expected a testbed of {PACKAGE} in {files.root}, found one of {found}: use it from "
            "there, take it down, or choose another directory with --state-dir"
        )


def node_names(nodes: int) -> list[str]:
    """``n1`` to ``nN``."""
    return [f"n{number}" for number in range(1, nodes + 1)]


def address(host: str) -> str:
    """The IPv4 address of ``login``, of a node or of the guest."""
    if host == LOGIN:
        number = LOGIN_HOST_NUMBER
    elif host in GUEST_HOSTS:
        number = GUEST_HOST_NUMBER + GUEST_HOSTS.index(host)
    else:
        number = int(host.removeprefix("n"))
    return f"{NETWORK_PREFIX}.{number}"


def switch_port(host: str) -> str:
    """The name of the bridge's port that leads to ``host``."""
    return f"v-{host}"


def daemon_of(host: str) -> str:
    """The record name of the Slurm daemon that runs on ``host``."""
    return "slurmctld" if host == LOGIN else f"slurmd.{host}"


def process_of(host: str) -> str:
    """The record name of the process with which ``host`` lives and dies."""
    return GUEST if host in GUEST_HOSTS else host


def partitions(files: Layout) -> list[str]:
    """What a site file calls the partitions of the testbed in this state directory."""
    if not files.guest_settings.exists():
        return [PARTITION]
    cards = json.loads(files.guest_settings.read_text("utf-8")).get("cards", 1)
    return [PARTITION, RDMA_PARTITION if cards == 1 else CARDS_PARTITION]
