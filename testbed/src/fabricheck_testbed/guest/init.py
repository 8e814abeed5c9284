"""The guest's first process: its files, network and RDMA devices, then its nodes.

What it says goes line by line to the anchor, in the words of ``anchor.Link``: step, error, ready.
It never ends: if it did, the kernel would panic, and the machine with it.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from fabricheck_testbed import layout, libc
from fabricheck_testbed.guest import agent, devices, initramfs
from fabricheck_testbed.guest.settings import Settings
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.munge import connectable, munged_command
from fabricheck_testbed.node import NodeError, hide_cgroups, isolate
from fabricheck_testbed.process import Host, ended, last_line, start_daemon
from fabricheck_testbed.records import host_boot_id
from fabricheck_testbed.visible import PRIVATE_DIRECTORIES, paths_to_keep

_PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05
_MUNGED: Final = "munged.guest"
_NODE_NAMESPACES: Final = (
    libc.CLONE_NEWUTS | libc.CLONE_NEWIPC | libc.CLONE_NEWNS | libc.CLONE_NEWPID
)


def main() -> NoReturn:
    """Entry point: STATE-DIR; started by the script of ``initramfs``."""
    files = Layout(Path(sys.argv[1]))
    # The guest's process ids mean nothing outside: its records lie where only it sees them.
    files.records = files.guest_records
    try:
        settings = Settings.load(files.guest_settings)
        _tell("step guest booted")
        _mount(files, settings)
        host = Host(files, os.open("/proc", os.O_RDONLY | os.O_DIRECTORY), host_boot_id())
        _build(settings, host)
    except (OSError, NodeError, subprocess.SubprocessError) as error:
        _fail(str(error))
    _tell("ready")
    agent.serve(layout.GUEST, settings.token, _nothing)


def _tell(event: str) -> None:
    with Path(initramfs.EVENTS_DEVICE).open("w", encoding="utf-8") as events:
        events.write(f"{event}\n")


def _fail(reason: str) -> NoReturn:
    """Say why, and stay: the anchor ends the machine when it has read it."""
    _tell(f"error {' '.join(reason.split())}")
    while True:
        time.sleep(_PATIENCE_SECONDS)


def _nothing() -> None:
    pass


def _mount(files: Layout, settings: Settings) -> None:
    os.umask(0o022)
    Path("/dev/pts").mkdir(exist_ok=True)
    libc.mount("devpts", "/dev/pts", "devpts", data="mode=620,ptmxmode=666")
    Path("/dev/shm").mkdir(exist_ok=True)  # noqa: S108
    for directory in PRIVATE_DIRECTORIES:
        libc.mount("tmpfs", directory, "tmpfs", data="mode=1777")
    for tag, path in settings.directories.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        libc.mount(tag, path, "9p", data=f"{initramfs.MOUNT_OPTIONS},cache=none")
    # Here munged makes the socket that it has outside, too.
    libc.mount("tmpfs", str(files.run), "tmpfs", data="mode=755")
    files.records.mkdir()


def _build(settings: Settings, host: Host) -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, unlimited)
    munged = start_daemon(_MUNGED, munged_command(settings.programs["munged"], host.files), host)
    devices.make_network(settings.programs["ip"], settings.nodes, settings.cards)
    _tell("step RDMA devices")
    devices.make_devices(settings.programs["rdma"], settings.nodes, settings.cards)
    socket = host.files.munge_socket
    _wait(munged, _MUNGED, host, lambda: connectable(socket))
    _tell("step the guest's node daemons (slurmd)")
    for node in settings.nodes:
        _spawn(node, settings, host)
        record = host.files.records / f"{node}.json"
        _wait(None, node, host, record.exists)


def _wait(pid: int | None, name: str, host: Host, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if (pid is not None and ended(pid)) or time.monotonic() > deadline:
            words = last_line(host.files.output_file(name))
            raise NodeError(f"{name} does not answer, its last words: {words or 'none'}")
        time.sleep(_POLL_SECONDS)


def _spawn(node: str, settings: Settings, host: Host) -> None:
    """Fork a node. A PID namespace begins with the next child, so fork twice."""
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        return
    try:
        libc.unshare(_NODE_NAMESPACES)
        if os.fork():
            os._exit(0)
        _run_node(node, settings, host)
    except (OSError, NodeError) as error:
        _fail(f"{node}: {error}")


def _run_node(node: str, settings: Settings, host: Host) -> NoReturn:
    isolate(node, paths_to_keep(map(Path, settings.directories.values())), host)
    devices.show_only(node, settings.cards)
    hide_cgroups()
    name = layout.daemon_of(node)
    command = [settings.programs["slurmd"], "-D", "-f", str(host.files.slurm_conf), "-N", node]
    slurmd = start_daemon(name, command, host)
    host.record_self(node)

    def watch() -> None:
        nonlocal slurmd
        if slurmd and ended(slurmd):
            slurmd = 0
            words = last_line(host.files.output_file(name))
            _tell(f"error {node}: slurmd has ended, its last words: {words}")

    agent.serve(node, settings.token, watch)
