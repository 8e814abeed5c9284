"""What a node is: the facts that may explain why it measures something else than before."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.nodes.told import PREFIX, Told, files, read_told

# What names the kernel, its disk and its address is another on each node.
_OF_THE_NODE: Final = ("BOOT_IMAGE=", "initrd=", "root=", "ip=", "BOOTIF=")
# Interfaces of containers come and go.
_PASSING: Final = re.compile(r"lo|(?:veth|docker|br-|virbr).*")
_BIOS: Final = ("sys_vendor", "product_name", "bios_version", "bios_date")
# A driver of the kernel itself has no version: its version is the kernel's.
_DRIVERS: Final = ("mlx4_core", "mlx5_core", "bnxt_re", "irdma", "ice")

_VERBS: Final = re.compile(r".*/libibverbs\.so\.(.*)")
_GOVERNOR: Final = re.compile(r"sys/devices/system/cpu/cpu\d+/cpufreq/scaling_governor")
_FIRMWARE: Final = re.compile(r"sys/class/infiniband/([^/]+)/fw_ver")
_RATE: Final = re.compile(r"sys/class/infiniband/([^/]+)/ports/(\d+)/rate")
_MTU: Final = re.compile(r"sys/class/net/([^/]+)/mtu")


def read_machines(directory: Path) -> dict[str, dict[str, str]]:
    """The facts of every node of a job that told them, by node; only those that it told.

    A file that is missing, cut or damaged says nothing, and is no fault of the case: what it
    measured is as true without.

    Args:
        directory: the job's working directory.
    """
    found = {}
    for path in files(directory):
        try:
            whole = [each for each in read_told(path) if "proc/cmdline" in each.lines]
        except FabricheckError:
            continue
        if whole:
            found[path.name.removeprefix(PREFIX)] = machine(whole[-1])
    return found


def machine(told: Told) -> dict[str, str]:
    """Each fact by its name in the record; none that the node did not tell."""
    return {name: fact for name, fact in _facts(told) if fact}


def _facts(told: Told) -> Iterator[tuple[str, str]]:
    yield "kernel", told.value("proc/sys/kernel/osrelease")
    options = told.value("proc/cmdline").split()
    yield "kernel_options", " ".join(each for each in options if not each.startswith(_OF_THE_NODE))
    system = dict(line.partition("=")[::2] for line in told.lines.get("etc/os-release", ()))
    yield "os", system.get("PRETTY_NAME", "").strip('"')
    yield "rdma_core", _listed(f"libibverbs {match[1]}" for match, _ in told.matching(_VERBS))
    versions = ((each, told.value(f"sys/module/{each}/version")) for each in _DRIVERS)
    yield "ofed", _listed(f"{driver} {version}" for driver, version in versions if version)
    yield "bios", " ".join(filter(None, (told.value(f"sys/class/dmi/id/{each}") for each in _BIOS)))
    processor = dict(line.partition(":")[::2] for line in told.lines.get("proc/cpuinfo", ()))
    yield "microcode", next((v.strip() for k, v in processor.items() if "microcode" in k), "")
    yield "governor", _listed(value for _, value in told.matching(_GOVERNOR))
    boards = (
        (match[1], version, told.value(f"sys/class/infiniband/{match[1]}/board_id"))
        for match, version in told.matching(_FIRMWARE)
    )
    yield (
        "firmware",
        _listed(
            f"{device} {version}{f' ({board})' if board else ''}"
            for device, version, board in boards
        ),
    )
    yield "link", _listed(f"{m[1]}:{m[2]} {rate}" for m, rate in told.matching(_RATE) if rate)
    mtus = ((match[1], mtu) for match, mtu in told.matching(_MTU))
    yield "mtu", _listed(f"{name} {mtu}" for name, mtu in mtus if not _PASSING.fullmatch(name))


def _listed(facts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, facts)))
