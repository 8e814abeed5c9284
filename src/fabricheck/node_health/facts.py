"""What each node of a job wrote down of itself with ``node_probe.sh``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ClusterShell.RangeSet import RangeSet, RangeSetException

from fabricheck.errors import FabricheckError
from fabricheck.nodes.cards import Cards, read_cards
from fabricheck.nodes.told import Told, read_told

NODE_PROBE = Path(__file__).with_name("node_probe.sh")

_CAP_IPC_LOCK = 1 << 14
_MEMLOCK = re.compile(r"Max locked memory +(?P<limit>\S+)")
_GOVERNOR = re.compile(r"sys/devices/system/cpu/cpu(\d+)/cpufreq/scaling_governor")
_HUGEPAGES = re.compile(r"sys/kernel/mm/hugepages/hugepages-(\d+)kB/nr_hugepages")
_NUMA = re.compile(r"sys/devices/system/node/node(\d+)/distance")
_MTU = re.compile(r"sys/class/net/([^/]+)/mtu")
_STATE = re.compile(r"(sys/class/infiniband/([^/]+))/ports/(\d+)/state")


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A NUMA node: its CPUs, and its distance to each NUMA node in the order of their numbers."""

    number: int
    cpus: frozenset[int]
    distances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PortFacts:
    """A port of an RDMA device.

    Attributes:
        name: device and port as UCX writes them, such as ``mlx5_0:1``.
        numa: the card's NUMA node; -1 if the firmware doesn't tell, ``None`` for a device that is
            no card but software on an interface.
        interface: the network interface of the same port; empty if there is none.
        state: the kernel's word for its state, such as ``ACTIVE``; empty if it says none.
    """

    name: str
    numa: int | None
    interface: str
    state: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a node offers to the programs that run on it.

    Attributes:
        node: name of the node.
        kernel: release of its kernel.
        virtual: whether it is a virtual machine; ``None`` if it doesn't tell.
        locks_freely: whether the process may lock memory whatever the limit (CAP_IPC_LOCK).
        memlock: memory that a process may lock, in bytes; ``None`` for unlimited.
        cpus: CPUs that the scheduler gave to the process.
        governors: frequency governor of each CPU that has one.
        transparent_hugepages: ``always``, ``madvise`` or ``never``; empty if the kernel has none.
        hugepages: reserved pages of each size in bytes.
        numa: the NUMA nodes.
        interfaces: MTU of each network interface, in bytes.
        ports: ports of RDMA devices.
        cards: facts of its cards and ports, by name.
        versions: what each program that was asked said of its version; empty if it said nothing.
        clock: time of the node's clock when the facts were written, in ns.
    """

    node: str
    kernel: str
    virtual: bool | None
    locks_freely: bool
    memlock: int | None
    cpus: frozenset[int]
    governors: Mapping[int, str]
    transparent_hugepages: str
    hugepages: Mapping[int, int]
    numa: tuple[NumaNode, ...]
    interfaces: Mapping[str, int]
    ports: tuple[PortFacts, ...]
    cards: Cards
    versions: Mapping[str, str]
    clock: int


def read_facts(path: Path) -> Facts:
    """The facts of one node.

    Raises:
        FabricheckError: if the file is cut or damaged; the message names the file and thus the
            node.
    """
    try:
        facts, versions = read_told(path)
    except ValueError:
        raise FabricheckError(
            f"FC1506 {path.name}: expected what the kernel and the programs report, each with its "
            "'end': the facts of this node are cut, run the case again"
        ) from None
    return facts_of(facts, versions.lines, path.name)


def facts_of(told: Told, versions: Mapping[str, Sequence[str]], source: str) -> Facts:
    """The facts of one node.

    Args:
        told: what the kernel told of it.
        versions: what programs said of their versions, and its ``clock``.
        source: names the node in a message.

    Raises:
        FabricheckError: if they are damaged.
    """
    try:
        return _facts(told, versions)
    except (LookupError, ValueError, RangeSetException) as error:
        raise FabricheckError(
            f"FC1507 {source}: expected what the kernel says of a node, found {error}: the "
            "facts of this node are damaged, run the case again"
        ) from None


def _facts(told: Told, versions: Mapping[str, Sequence[str]]) -> Facts:
    process = dict(line.split(":", 1) for line in told.lines["proc/self/status"])
    return Facts(
        node=told.host,
        kernel=told.lines["proc/sys/kernel/osrelease"][-1],
        virtual=_virtual(told),
        locks_freely=bool(int(process["CapEff"], 16) & _CAP_IPC_LOCK),
        memlock=_memlock(told),
        cpus=_cpus(process["Cpus_allowed_list"]),
        governors={int(match[1]): name for match, name in told.matching(_GOVERNOR)},
        transparent_hugepages=_chosen(told.value("sys/kernel/mm/transparent_hugepage/enabled")),
        hugepages={int(match[1]) << 10: int(count) for match, count in told.matching(_HUGEPAGES)},
        numa=tuple(
            NumaNode(
                int(match[1]),
                _cpus(told.value(f"sys/devices/system/node/node{match[1]}/cpulist")),
                tuple(map(int, distances.split())),
            )
            for match, distances in told.matching(_NUMA)
        ),
        interfaces={match[1]: int(mtu) for match, mtu in told.matching(_MTU)},
        ports=tuple(_ports(told)),
        cards=read_cards(told),
        versions={
            program: " ".join(said[-1].split()).removeprefix("# ")
            for program, said in versions.items()
            if program != "clock"
        },
        clock=int(versions["clock"][-1]),
    )


def _virtual(told: Told) -> bool | None:
    processor = [line.split() for line in told.lines.get("proc/cpuinfo", ())]
    flags = [words for words in processor if words and words[0].startswith("flags")]
    return "hypervisor" in flags[0] if flags else None


def _memlock(told: Told) -> int | None:
    (limit,) = filter(None, map(_MEMLOCK.match, told.lines["proc/self/limits"]))
    return None if limit["limit"] == "unlimited" else int(limit["limit"])


def _cpus(listed: str) -> frozenset[int]:
    return frozenset(map(int, RangeSet(listed.strip() or None)))


def _chosen(words: str) -> str:
    """The word in brackets among the kernel's choices; empty where there are none."""
    if not words:
        return ""
    (chosen,) = re.findall(r"\[(\w+)\]", words)
    return str(chosen)


def _ports(told: Told) -> Iterator[PortFacts]:
    for match, state in told.matching(_STATE):
        device = match[1]
        # RoCE names the interface below each GID; a card on InfiniBand has it beside the port.
        below = told.value(f"{device}/ports/{match[3]}/gid_attrs/ndevs/0")
        beside = re.compile(rf"{re.escape(device)}/device/net/([^/]+)/mtu")
        interface = below or next((each[1] for each, _ in told.matching(beside)), "")
        # A device without a bus below it, such as Soft-RoCE's, is no card.
        numa = None
        if any(path.startswith(f"{device}/device/") for path in told.lines):
            numa = int(told.value(f"{device}/device/numa_node") or -1)
        # The kernel writes a state as '4: ACTIVE'.
        yield PortFacts(f"{match[2]}:{match[3]}", numa, interface, state.rpartition(" ")[2])
