"""The anchor: one process per testbed, in which everything else lives.

It is the first process of a PID namespace that holds all other processes of the testbed, and it
owns the network namespace with the bridge. When it ends, for whatever reason, the kernel ends
every process in it, and with them go their namespaces, mounts and interfaces. So there is exactly
one process to kill, and nothing that can be left behind.

While ``up`` works, the anchor watches the pipe ``control``: if ``up`` is killed, the pipe closes,
and the anchor ends. ``up`` writes one byte to it when the testbed may stay.
"""

import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

from fabricheck_testbed import fabric, layout, libc
from fabricheck_testbed.guest.boot import READY, Guest
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.munge import connectable, munged_command
from fabricheck_testbed.node import NodeError, ip_batch, run_node
from fabricheck_testbed.process import Host, ended, last_line, reap_forever, start_daemon
from fabricheck_testbed.spec import Spec

_PATIENCE_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.005


class Link:
    """The two pipes to ``up``."""

    def __init__(self, events: int, control: int) -> None:
        self.events = events
        self.control = control

    def tell(self, event: str) -> None:
        """Report one line; without a reader there is no reason to go on."""
        try:
            os.write(self.events, f"{event}\n".encode())
        except BrokenPipeError:
            os._exit(1)

    def leave_if_abandoned(self) -> None:
        """End the testbed if ``up`` has gone."""
        if select.select([self.control], [], [], 0)[0]:
            os._exit(1)

    def wait_for_consent(self) -> None:
        """Block until ``up`` lets the testbed stay; end it if ``up`` goes without a word."""
        if os.read(self.control, 1) == b"":
            os._exit(1)

    def close(self) -> None:
        """Close both pipes (in a child, or when ``up`` is done)."""
        os.close(self.events)
        os.close(self.control)


class Child:
    """A node as the anchor sees it: its PID in the anchor's namespace, and the way to talk."""

    def __init__(self, name: str, pid: int, channel: socket.socket) -> None:
        self.name = name
        self.pid = pid
        self.channel = channel

    def tell(self, message: str) -> None:
        """Let the node go on."""
        self.channel.send(message.encode())

    def expect(self, message: str, link: Link) -> None:
        """Wait for ``message``; NodeError if the node says something else, or nothing."""
        watched = [self.channel.fileno(), link.control]
        readable, _, _ = select.select(watched, [], [], _PATIENCE_SECONDS)
        link.leave_if_abandoned()
        if not readable:
            raise NodeError(f"{self.name} has not reported {message!r} in {_PATIENCE_SECONDS:g} s")
        found = self.channel.recv(4096).decode()
        if found.startswith("error "):
            raise NodeError(found.removeprefix("error "))
        if found != message:
            raise NodeError(f"{self.name} ended before it was {message}")


def main() -> NoReturn:
    """Entry point: SPEC EVENTS-FD CONTROL-FD LOCK-FD; started by ``lifecycle.start_anchor``."""
    spec = Spec.loads(sys.argv[1])
    events, control, lock = (int(argument) for argument in sys.argv[2:])
    for descriptor in (events, control, lock):
        os.set_inheritable(descriptor, False)
    link = Link(events, control)
    host_proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    host = Host(Layout(Path(spec.root)), host_proc, spec.boot_id)
    os.umask(0o022)
    try:
        if spec.user_namespace:
            enter_user_namespace()
        libc.unshare(libc.NODE_NAMESPACES)
        if os.fork():
            os._exit(0)
        host.record_self(layout.SWITCH)
        # From here on whoever gets the lock finds us by our record.
        os.close(lock)
        _build(spec, host, link)
    except (OSError, NodeError) as error:
        link.tell(f"error {error}")
        os._exit(1)
    link.tell("ready")
    link.wait_for_consent()
    link.close()
    reap_forever()


def enter_user_namespace() -> None:
    """Become root of a user namespace in which only the caller's own ids exist."""
    user, group = os.geteuid(), os.getegid()
    libc.unshare(libc.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")


def _build(spec: Spec, host: Host, link: Link) -> None:
    libc.mount("none", "/", None, libc.MS_REC | libc.MS_PRIVATE)
    libc.mount("proc", "/proc", "proc")
    libc.mount(str(host.files.hosts), "/etc/hosts", None, libc.MS_BIND)
    libc.sethostname(layout.SWITCH)
    link.tell("step authentication (munge)")
    munged = start_daemon("munged", munged_command(spec.programs["munged"], host.files), host)
    link.tell("step namespaces and network")
    names = [layout.LOGIN, *layout.node_names(spec.nodes)]
    children = [_spawn(name, spec, host, link) for name in names]
    routers = [_spawn(name, spec, host, link) for name in fabric.routers(spec.fabric, spec.nodes)]
    everything = [*children, *routers]
    ip = spec.programs["ip"]
    bridge = layout.BRIDGE
    ip_batch(ip, "link set lo up", f"link add {bridge} type bridge", f"link set {bridge} up")
    # The guest boots while everything else starts.
    guest = Guest(spec, host) if spec.guest else None
    for child in everything:
        child.expect("prepared", link)
    ip_batch(ip, *(command for child in children for command in _wiring(child, spec.fabric)))
    ip_batch(ip, *_cabling(spec, {child.name: child.pid for child in everything}))
    _wait_for_munged(munged, host, link)
    for child in everything:
        child.tell("linked")
    for child in everything:
        child.expect("online", link)
    link.tell("step controller (slurmctld)")
    controller, *nodes = children
    # A slurmd that does not find its controller sleeps for a second before it tries again.
    controller.tell("start")
    controller.expect("started", link)
    link.tell("step node daemons (slurmd)")
    for node in nodes:
        node.tell("start")
    for node in nodes:
        node.expect("started", link)
    for child in everything:
        child.channel.close()
    if guest is not None:
        _follow_guest(guest, link)


def _follow_guest(guest: Guest, link: Link) -> None:
    """Pass on what the guest reports until it is ready; NodeError if it is not in time."""
    link.tell("step the guest's kernel")
    while True:
        for event in guest.events():
            if event == READY:
                return
            if event.startswith("error "):
                raise NodeError(f"guest: {event.removeprefix('error ')}")
            link.tell(event)
        link.leave_if_abandoned()
        time.sleep(_POLL_SECONDS)


def _cabling(spec: Spec, pids: dict[str, int]) -> Iterator[str]:
    for cable in fabric.cables(spec.fabric, spec.nodes):
        (host, interface), (far_host, far) = cable.ends()
        yield (
            f"link add {interface} netns {pids[host]} type veth "
            f"peer name {far} netns {pids[far_host]}"
        )


def _wiring(child: Child, kind: str) -> tuple[str, str]:
    port, own = layout.switch_port(child.name), fabric.management(child.name, kind)
    return (
        f"link add {port} type veth peer name {own} netns {child.pid}",
        f"link set {port} master {layout.BRIDGE} up",
    )


def _spawn(name: str, spec: Spec, host: Host, link: Link) -> Child:
    """Fork a node into namespaces of its own."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    middle = os.fork()
    if middle == 0:
        ours.close()
        link.close()
        _become_node(name, spec, host, theirs)
    theirs.close()
    os.waitpid(middle, 0)
    found = ours.recv(4096).decode()
    if found.startswith("error "):
        raise NodeError(found.removeprefix("error "))
    ours.send(b"begin")
    return Child(name, int(found), ours)


def _become_node(name: str, spec: Spec, host: Host, channel: socket.socket) -> NoReturn:
    """In the middle process: a PID namespace begins with the next child, so fork once more."""
    try:
        libc.unshare(libc.NODE_NAMESPACES)
        pid = os.fork()
    except OSError as error:
        channel.send(f"error {name}: {error}".encode())
        os._exit(1)
    if pid:
        channel.send(str(pid).encode())
        os._exit(0)
    run_node(name, spec, host, channel)


def _wait_for_munged(pid: int, host: Host, link: Link) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not connectable(host.files.munge_socket):
        link.leave_if_abandoned()
        if ended(pid) or time.monotonic() > deadline:
            log = host.files.output_file("munged")
            raise NodeError(f"munged does not answer, its last words: {last_line(log)}")
        time.sleep(_POLL_SECONDS)
