"""Everything that ``up`` does for the guest before the anchor starts it."""

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from fabricheck_testbed import programs
from fabricheck_testbed.bootstrap import python_command
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import initramfs, kernel, machine
from fabricheck_testbed.guest.settings import Settings
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import Started
from fabricheck_testbed.visible import outermost

_INSIDE = ("munged", "slurmd", "ip", "rdma")
_TOKEN_BYTES = 32


def writable_directories(wanted: Iterable[Path]) -> list[str]:
    """What the guest may write: the outermost of ``wanted``, but never the whole machine."""
    return outermost({path.resolve() for path in wanted} - {Path("/")})


def prepare(files: Layout, started: Started, progress: Callable[[str], None]) -> list[str]:
    """Fetch what is missing, and write what the guest reads; returns QEMU's command line.

    Raises:
        TestbedError: a program, the kernel, memory or the device for network cards is missing.
    """
    found = programs.require_guest_programs()
    _require_static(Path(found["busybox"]))
    machine.require_memory()
    machine.require_tap()
    cache = kernel.cache_dir()
    image = kernel.provide(cache, progress)
    qemu, busybox = found["qemu-system-x86_64"], Path(found["busybox"])
    accelerator = machine.choose_accelerator(qemu, busybox, image, cache, progress)
    settings = Settings(
        machine.tags(started.guest_directories),
        {name: found[name] for name in _INSIDE},
        accelerator,
        secrets.token_hex(_TOKEN_BYTES),
        started.cards,
        started.guest_nodes,
    )
    settings.save(files.guest_settings)
    first = python_command("guest.init", str(files.root))
    archive = initramfs.for_guest(busybox, image.modules, first)
    files.guest_initramfs.write_bytes(archive)
    return machine.qemu_command(qemu, accelerator, image, files, started.guest_directories)


def _require_static(busybox: Path) -> None:
    # The guest starts it before it sees any library.
    if any(kind == kernel.PT_INTERP for kind, _, _ in kernel.segments(busybox.read_bytes())):
        raise TestbedError(
            f"the testbed's guest needs a statically linked busybox, and {busybox} is none: "
            "apt-get install busybox-static"
        )
