"""A node: the first process of a namespace set, which starts one Slurm daemon and then reaps."""

import os
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NoReturn

from fabricheck_testbed import fabric, layout, libc
from fabricheck_testbed.process import Host, ended, last_line, reap_forever, start_daemon
from fabricheck_testbed.spec import Spec
from fabricheck_testbed.visible import make_private

_POLL_SECONDS: Final = 0.005
_PATIENCE_SECONDS: Final = 20.0
# /proc/net/tcp: local port in hexadecimal, and state 0A, which is LISTEN.
_LISTENING: Final = f":{layout.CONTROLLER_PORT:04X} 00000000:0000 0A"


class NodeError(Exception):
    """A node could not be set up; the message goes to the user."""


def run_node(name: str, spec: Spec, host: Host, channel: socket.socket) -> NoReturn:
    """Become node ``name``, in step with the anchor at the other end of ``channel``."""
    try:
        _expect(channel, "begin")
        host.record_self(name)
        isolate(name, spec.keep_visible, host)
        # /sys/class/net shows the network namespace of whoever mounted it.
        libc.mount("sysfs", "/sys", "sysfs")
        hide_cgroups()
        _tell(channel, "prepared")
        _expect(channel, "linked")
        _bring_up_network(name, spec)
        _tell(channel, "online")
        if fabric.is_router(name):
            channel.close()
            reap_forever()
        _expect(channel, "start")
        _start_slurm(name, spec, host)
        _tell(channel, "started")
    except (OSError, NodeError) as error:
        _tell(channel, f"error {name}: {error}")
        os._exit(1)
    channel.close()
    reap_forever()


def _tell(channel: socket.socket, message: str) -> None:
    channel.send(message.encode())


def _expect(channel: socket.socket, message: str) -> None:
    found = channel.recv(100).decode()
    if found != message:
        raise NodeError(f"expected {message!r} from the anchor, found {found!r}")


def isolate(name: str, keep_visible: Iterable[str], host: Host) -> None:
    """In fresh namespaces: what makes a node a machine of its own, except for the network."""
    libc.mount("none", "/", None, libc.MS_REC | libc.MS_PRIVATE)
    libc.mount("proc", "/proc", "proc")
    libc.sethostname(name)
    make_private(keep_visible)
    # UCX takes equal boot ids for "same machine" and would offer shared memory between nodes.
    boot_id = host.files.boot_id(name)
    boot_id.write_text(Path("/proc/sys/kernel/random/uuid").read_text("ascii"), "ascii")
    libc.mount(str(boot_id), "/proc/sys/kernel/random/boot_id", None, libc.MS_BIND)


def hide_cgroups() -> None:
    """Give the node no control groups: it shares those of whoever runs the testbed."""
    # slurmd 22.05 ends if nothing is mounted there.
    libc.mount("tmpfs", "/sys/fs/cgroup", "tmpfs", data="mode=755")


def _bring_up_network(name: str, spec: Spec) -> None:
    # Neighbour discovery would move byte counters that prove which transport was used.
    for scope in ("all", "default"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if switch.exists():
            switch.write_text("1", encoding="ascii")
    commands = ["link set lo up"]
    if fabric.is_router(name):
        for setting, value in fabric.ROUTER_SETTINGS.items():
            Path("/proc/sys/net/ipv4", setting).write_text(value, encoding="ascii")
        if name.startswith("leaf"):
            commands += [f"link add {layout.BRIDGE} type bridge", f"link set {layout.BRIDGE} up"]
    else:
        own = fabric.management(name, spec.fabric)
        commands += [
            f"address add {layout.address(name)}/{layout.PREFIX_LENGTH} brd + dev {own}",
            f"link set {own} up",
        ]
    ip, where = spec.programs["ip"], (name, spec.fabric, spec.nodes)
    ip_batch(ip, *commands, *fabric.plug(*where))
    _wait_until_up()
    ip_batch(ip, *fabric.setup(*where))
    ip_batch(spec.programs["tc"], *fabric.queues(*where))


def _wait_until_up() -> None:
    """UCX lists a NIC only when the kernel's link watch has seen it running."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for state in Path("/sys/class/net").glob("*/operstate"):
        # That of lo is never known.
        while (found := state.read_text("ascii").strip()) not in ("up", "unknown"):
            if time.monotonic() > deadline:
                raise NodeError(f"{state.parent.name} stays {found}, expected it to be up")
            time.sleep(_POLL_SECONDS)


def ip_batch(program: str, *commands: str, netns: str = "") -> None:
    """Run several ``ip`` (or ``tc``) commands at once; NodeError with the first complaint."""
    if not commands:
        return
    done = subprocess.run(
        [program, *(["-netns", netns] if netns else []), "-batch", "-"],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NodeError(f"{Path(program).name}: {done.stderr.strip().splitlines()[0]}")


def _start_slurm(name: str, spec: Spec, host: Host) -> None:
    program = "slurmctld" if name == layout.LOGIN else "slurmd"
    shim = {"LD_PRELOAD": str(host.files.setgroups_shim)} if spec.user_namespace else {}
    pid = start_daemon(
        layout.daemon_of(name),
        [spec.programs[program], "-D", "-f", str(host.files.slurm_conf)],
        host,
        shim,
    )
    if name != layout.LOGIN:
        return
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while _LISTENING not in Path("/proc/net/tcp").read_text("ascii"):
        if ended(pid):
            log = host.files.output_file("slurmctld")
            raise NodeError(f"slurmctld ended at once, its last words: {last_line(log)}")
        if time.monotonic() > deadline:
            raise NodeError(f"slurmctld does not listen on port {layout.CONTROLLER_PORT}")
        time.sleep(_POLL_SECONDS)
