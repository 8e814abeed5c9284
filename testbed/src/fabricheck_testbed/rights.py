"""What this user may do with namespaces, found out by trying it in a child process."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fabricheck_testbed import libc
from fabricheck_testbed.anchor import enter_user_namespace
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.node import NodeError, ip_batch

_LIMITS: Final = (
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
)


def probe(*, user_namespace: bool) -> str | None:
    """Try what a node needs; None if all works, otherwise the step that failed and why."""
    return _in_child(lambda: _make_node(user_namespace=user_namespace))


def probe_network(ip: str) -> str | None:
    """Try to make a bridge and a veth pair in a fresh network namespace; as ``probe``."""
    return _in_child(lambda: _make_network(ip))


def _in_child(attempt: Callable[[], None]) -> str | None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except (OSError, NodeError) as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        problem = pipe.read()
    os.waitpid(child, 0)
    return problem or None


def _make_node(*, user_namespace: bool) -> None:
    if user_namespace:
        enter_user_namespace()
    libc.unshare(libc.NODE_NAMESPACES)
    # /proc can be mounted only by a process in the new PID namespace.
    if grandchild := os.fork():
        os.waitpid(grandchild, 0)
        return
    libc.mount("none", "/", None, libc.MS_REC | libc.MS_PRIVATE)
    libc.mount("proc", "/proc", "proc")
    libc.mount("sysfs", "/sys", "sysfs")
    libc.mount("tmpfs", "/sys/fs/cgroup", "tmpfs")
    libc.sethostname("probe")


def _make_network(ip: str) -> None:
    if os.geteuid() != 0:
        enter_user_namespace()
    libc.unshare(libc.CLONE_NEWNET)
    ip_batch(ip, "link add br0 type bridge", "link add v0 type veth peer name v1")


def choose_mode() -> bool:
    """Whether a testbed must live in a user namespace (True) or root's rights do (False).

    TestbedError says exactly what is missing if neither works.
    """
    as_root = probe(user_namespace=False) if os.geteuid() == 0 else "not root"
    if as_root is None:
        return False
    unprivileged = probe(user_namespace=True)
    if unprivileged is None:
        return True
    who = f"user {os.geteuid()}" if os.geteuid() else f"root without enough rights ({as_root})"
    raise TestbedError(
        f"a testbed needs root, or a kernel that lets users make namespaces; this is {who}, and "
        f"user namespaces do not work here ({unprivileged}{_limits()}): run as root (in a "
        "container: with --privileged), or have an administrator allow user namespaces"
    )


def _limits() -> str:
    found = [
        f"{path} is {text}"
        for path in _LIMITS
        if Path(path).exists() and (text := Path(path).read_text("ascii").strip()) == "0"
    ]
    return f"; {', '.join(found)}" if found else ""
