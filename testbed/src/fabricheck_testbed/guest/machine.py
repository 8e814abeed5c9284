"""QEMU: what the guest's machine looks like, and whether KVM can run it."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fabricheck_testbed import layout
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import initramfs, tsc
from fabricheck_testbed.guest.kernel import Kernel
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.records import host_boot_id

MEMORY_MB: Final = 2048
# QEMU's own and its translated code, which is bounded below.
OVERHEAD_MB: Final = 512
_CODE_MB: Final = 256
# Each node has a rank that polls; the rest is for the kernel's network threads.
_CPUS: Final = 4
TCG: Final = "tcg"
KVM: Final = "kvm"
_PROBE_SECONDS: Final = 15.0
_KVM_DEVICE: Final = Path("/dev/kvm")
_TUN_DEVICE: Final = Path("/dev/net/tun")
# Nothing in this guest needs protection from itself; preempt=full: a rank that polls must not
# keep the processor from the kernel's network threads until the next tick. The closing of devices
# and namespaces waits for RCU, which an idle processor would make long.
_KERNEL_ARGUMENTS: Final = (
    "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr selinux=0 apparmor=0 audit=0 "
    "tsc=reliable no_timer_check random.trust_cpu=on preempt=full init_on_alloc=0 "
    "rcupdate.rcu_expedited=1"
)
# Each directory is a PCI device of its own, and the machine has 32 slots.
_MAX_DIRECTORIES: Final = 24


def qemu_command(
    qemu: str, accelerator: str, kernel: Kernel, files: Layout, directories: Sequence[str]
) -> list[str]:
    """The command line; the guest sees this machine read-only, and may write ``directories``.

    Raises:
        TestbedError: there are too many directories.
    """
    if len(directories) > _MAX_DIRECTORIES:
        raise TestbedError(
            f"the testbed's guest can share {_MAX_DIRECTORIES} directories, found "
            f"{len(directories)}: use fewer --share"
        )
    exports = [("/", initramfs.ROOT_TAG, ",readonly=on")]
    exports += [(path, tag, "") for tag, path in tags(directories).items()]
    shared = []
    for path, tag, rights in exports:
        options = f"local,id={tag},path={_escaped(path)},security_model=none,multidevs=remap"
        shared += ["-fsdev", options + rights]
        shared += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    return [
        *_machine(qemu, accelerator, kernel, files.guest_initramfs, MEMORY_MB),
        "-serial",
        f"file:{_escaped(str(files.guest_console))}",
        "-serial",
        f"file:{_escaped(str(files.guest_events))}",
        *shared,
        "-netdev",
        f"tap,id=net,ifname={layout.switch_port(layout.GUEST)},script=no,downscript=no",
        # A network card's own boot code costs seconds.
        "-device",
        "virtio-net-pci,netdev=net,romfile=",
    ]


def tags(directories: Sequence[str]) -> dict[str, str]:
    """Each directory under the 9p tag by which the guest mounts it."""
    return {f"directory{number}": path for number, path in enumerate(directories)}


def _escaped(path: str) -> str:
    return path.replace(",", ",,")


def _machine(
    qemu: str, accelerator: str, kernel: Kernel, initrd: Path, memory_mb: int
) -> list[str]:
    tcg = accelerator == TCG
    return [
        qemu,
        "-machine",
        "q35,hpet=off",
        "-accel",
        f"tcg,thread=multi,tb-size={_CODE_MB}" if tcg else "kvm",
        "-cpu",
        # Programs that take AVX2, such as NumPy's sort, end in a fault in QEMU 7.2.
        "max,avx2=off,avx=off" if tcg else "host",
        "-smp",
        str(_CPUS),
        "-m",
        f"{memory_mb}M",
        "-nodefaults",
        "-no-reboot",
        "-display",
        "none",
        "-monitor",
        "none",
        "-kernel",
        str(kernel.image),
        "-initrd",
        str(initrd),
        "-append",
        _kernel_arguments(emulated=tcg),
    ]


def _kernel_arguments(*, emulated: bool) -> str:
    """What the kernel is told; an emulated one also what it could only find out badly."""
    khz = tsc.kilohertz() if emulated else None
    return _KERNEL_ARGUMENTS + (f" tsc_early_khz={khz}" if khz else "")


def choose_accelerator(
    qemu: str, busybox: Path, kernel: Kernel, cache: Path, progress: Callable[[str], None]
) -> str:
    """``kvm`` if it has run this kernel, else ``tcg``; found out once after each boot."""
    answer = cache / "accelerator"
    try:
        boot, found = answer.read_text("utf-8").split()
        if boot == host_boot_id():
            return found
    except (OSError, ValueError):
        pass
    progress("guest: looking whether KVM works")
    found = KVM if _kvm_works(qemu, busybox, kernel, cache) else TCG
    temporary = cache / f"accelerator.{os.getpid()}"
    temporary.write_text(f"{host_boot_id()} {found}\n", "utf-8")
    temporary.rename(answer)
    return found


def _kvm_works(qemu: str, busybox: Path, kernel: Kernel, cache: Path) -> bool:
    """Boot the kernel under KVM; a device that can be written says little about it."""
    if not os.access(_KVM_DEVICE, os.R_OK | os.W_OK):
        return False
    initrd = cache / f"probe.{os.getpid()}"
    initrd.write_bytes(initramfs.for_probe(busybox))
    command = [*_machine(qemu, KVM, kernel, initrd, 256), "-serial", "stdio"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        initrd.unlink()
    return initramfs.PROBE_ANSWER in done.stdout


def require_memory() -> None:
    """TestbedError if the guest does not fit into what is available."""
    wanted = MEMORY_MB + OVERHEAD_MB
    if (available := available_mb()) < wanted:
        raise TestbedError(
            f"the testbed's guest needs {wanted} MB of memory, and {available} MB are available: "
            "end other programs, or do without --rdma"
        )


def require_tap() -> None:
    """TestbedError if the kernel's device for virtual network cards is not there."""
    if not os.access(_TUN_DEVICE, os.R_OK | os.W_OK):
        raise TestbedError(
            f"the testbed's guest needs {_TUN_DEVICE}, which is missing or not writable here: "
            "load the kernel module (modprobe tun, as root), give the container the device, or do "
            "without --rdma"
        )


def available_mb() -> int:
    """MemAvailable of this machine."""
    fields = dict(
        line.split(":", 1) for line in Path("/proc/meminfo").read_text("ascii").splitlines()
    )
    return int(fields["MemAvailable"].split()[0]) // 1024
