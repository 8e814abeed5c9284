"""What the guest's kernel finds when it starts: busybox, modules, and a script that mounts."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

# The 9p tag of this machine's files, which the guest sees read-only.
ROOT_TAG: Final = "machine"
# Large messages, because each one is a trip through QEMU.
MOUNT_OPTIONS: Final = "trans=virtio,version=9p2000.L,msize=512000"
# In the guest, the second serial line leads to the anchor, line by line.
EVENTS_DEVICE: Final = "/dev/ttyS1"
PROBE_ANSWER: Final = "the kernel runs"
_MODE_DIRECTORY: Final = 0o040755
_MODE_PROGRAM: Final = 0o100755
_TRAILER: Final = "TRAILER!!!"

_START: Final = """\
#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs dev /dev
fail() {
  echo "error the guest's first script: $1" >{events}
  $B poweroff -f
}
for module in /modules/*.ko; do
  $B insmod "$module" || fail "${module##*/} cannot be loaded"
done
$B mount -t 9p -o {options},cache=loose,ro {root} /new || fail "the files cannot be mounted"
for name in proc sys dev; do
  $B mount --move /$name /new/$name || fail "/$name cannot be moved"
done
exec $B switch_root /new {command} || fail "Python cannot be started"
"""
_PROBE: Final = """\
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
echo "{answer}" >/dev/ttyS0
/bin/busybox poweroff -f
"""


def for_guest(busybox: Path, modules: Sequence[Path], command: Sequence[str]) -> bytes:
    """The archive of a guest that mounts this machine's files and becomes ``command``."""
    script = (
        _START.replace("{events}", EVENTS_DEVICE)
        .replace("{options}", MOUNT_OPTIONS)
        .replace("{root}", ROOT_TAG)
        .replace("{command}", shlex.join(command))
    )
    return _archive(script, busybox, {path.name: path.read_bytes() for path in modules})


def for_probe(busybox: Path) -> bytes:
    """The archive of a guest that says ``PROBE_ANSWER`` on its console and ends."""
    return _archive(_PROBE.replace("{answer}", PROBE_ANSWER), busybox, {})


def _archive(script: str, busybox: Path, modules: Mapping[str, bytes]) -> bytes:
    names = ("bin", "modules", "proc", "sys", "dev", "new")
    entries = [(name, _MODE_DIRECTORY, b"") for name in names]
    entries.append(("bin/busybox", _MODE_PROGRAM, busybox.read_bytes()))
    entries.append(("init", _MODE_PROGRAM, script.encode()))
    entries += [(f"modules/{name}", _MODE_PROGRAM, data) for name, data in modules.items()]
    entries.append((_TRAILER, 0, b""))
    return b"".join(_members(entries))


def _members(entries: Sequence[tuple[str, int, bytes]]) -> Iterator[bytes]:
    """The "newc" form of cpio (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    for inode, (name, mode, data) in enumerate(entries, 1):
        encoded = name.encode() + b"\0"
        numbers = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % number for number in numbers)
        yield _padded(header + encoded)
        yield _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
