"""The few system calls that Python 3.11 does not offer: namespaces, mounts, host name."""

import ctypes
import os
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
NODE_NAMESPACES: Final = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET

MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18

PR_SET_PDEATHSIG: Final = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Put the caller into new namespaces; OSError names the flags."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(descriptor: int, what: str) -> None:
    """Enter the namespace behind an open ``/proc/PID/ns`` file; OSError names ``what``."""
    _check(_libc.setns(descriptor, 0), f"entering the namespace {what}")


def mount(source: str, target: str, kind: str | None, flags: int = 0, data: str = "") -> None:
    """mount(2); OSError names the target."""
    result = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode(),
    )
    _check(result, f"mounting {kind or source} on {target}")


def sethostname(name: str) -> None:
    """Set the host name of the caller's UTS namespace."""
    encoded = name.encode()
    _check(_libc.sethostname(encoded, len(encoded)), f"setting the host name {name}")


def die_with_parent(signal_number: int) -> None:
    """Let the kernel send ``signal_number`` to the caller when its parent ends."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")
