"""What each node of a job wrote down of itself with ``node_probe.sh``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ClusterShell.RangeSet import RangeSet, RangeSetException

from fabricheck.errors import FabricheckError

NODE_PROBE = Path(__file__).with_name("node_probe.sh")
FACTS, PART = "facts.", ".part"
"""The files of the probe: ``facts.NODE``, and ``facts.NODE.part`` as long as it writes."""

_CAP_IPC_LOCK = 1 << 14
_NOT_TOLD = "-"
_END = "end"
_MACHINES = {"virtual": True, "physical": False, _NOT_TOLD: None}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A NUMA node: its CPUs, and its distance to each NUMA node in the order of their numbers."""

    number: int
    cpus: frozenset[int]
    distances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Port:
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
    ports: tuple[Port, ...]
    versions: Mapping[str, str]
    clock: int


class Lines:
    """Lines ``KEY WORD ...`` of a file that its writer closed with the line ``end``.

    Raises:
        FabricheckError: for a file that is cut; from the methods: for a line that is damaged.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._name, self._what = path.name, what
        self._lines: dict[str, list[tuple[int, list[str]]]] = {}
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError as error:
            raise FabricheckError(
                f"{path.name}: expected {what}, found: {error.strerror}: run the case again"
            ) from error
        if not lines or lines[-1] != _END:
            raise FabricheckError(
                f"{path.name}: expected 'end' as its last line, found "
                f"{lines[-1] if lines else 'an empty file'!r}: {what} are cut, run the case again"
            )
        for number, line in enumerate(lines[:-1], start=1):
            key, *words = line.split() or [""]
            self._lines.setdefault(key, []).append((number, words))

    def one(self, key: str, read: Callable[..., T]) -> T:
        """What ``read`` makes of the words of the only line with that key."""
        found = self.each(key, read)
        if len(found) != 1:
            raise FabricheckError(
                f"{self._name}: expected one line {key!r}, found {len(found)}: {self._what} are "
                "damaged, run the case again"
            )
        return found[0]

    def each(self, key: str, read: Callable[..., T]) -> list[T]:
        """What ``read`` makes of the words of each line with that key."""
        found = []
        for number, words in self._lines.get(key, []):
            try:
                found.append(read(*words))
            except (TypeError, ValueError, KeyError, RangeSetException):
                raise FabricheckError(
                    f"{self._name}, line {number}: expected the words of {key!r}, found "
                    f"{' '.join(words)!r}: {self._what} are damaged, run the case again"
                ) from None
        return found


def read_facts(path: Path) -> Facts:
    """The facts of one node.

    Raises:
        FabricheckError: if the file is cut or damaged; the message names the file and thus the
            node.
    """
    lines = Lines(path, "the facts of this node")
    return Facts(
        node=lines.one("node", str),
        kernel=lines.one("kernel", str),
        virtual=lines.one("machine", _MACHINES.__getitem__),
        locks_freely=bool(lines.one("capabilities", _hexadecimal) & _CAP_IPC_LOCK),
        memlock=lines.one("memlock", _limit),
        cpus=lines.one("cpus", _cpus),
        governors=dict(lines.each("governor", lambda cpu, name: (int(cpu), str(name)))),
        transparent_hugepages=lines.one("transparent_hugepages", _chosen),
        hugepages=dict(lines.each("hugepages", lambda kib, count: (int(kib) << 10, int(count)))),
        numa=tuple(lines.each("numa", _numa)),
        interfaces=dict(lines.each("interface", lambda name, mtu: (str(name), int(mtu)))),
        ports=tuple(lines.each("port", _port)),
        versions=dict(
            lines.each(
                "version",
                lambda program, *said: (program, _told(" ".join(said).removeprefix("# "))),
            )
        ),
        clock=lines.one("clock", int),
    )


def _hexadecimal(word: str) -> int:
    return int(word, 16)


def _limit(word: str) -> int | None:
    return None if word == "unlimited" else int(word)


def _cpus(word: str) -> frozenset[int]:
    return frozenset() if word == _NOT_TOLD else frozenset(map(int, RangeSet(word)))


def _chosen(*words: str) -> str:
    """The word in brackets among the kernel's choices; empty where there are none."""
    if words == (_NOT_TOLD,):
        return ""
    (chosen,) = (word[1:-1] for word in words if word.startswith("[") and word.endswith("]"))
    return chosen


def _numa(number: str, cpus: str, *distances: str) -> NumaNode:
    return NumaNode(int(number), _cpus(cpus), tuple(map(int, distances)))


def _port(name: str, numa: str, interface: str, *state: str) -> Port:
    # The kernel writes a state as '4: ACTIVE'.
    place = None if numa == "virtual" else int(numa)
    return Port(name, place, _told(interface), _told(state[-1]) if state else "")


def _told(word: str) -> str:
    return "" if word == _NOT_TOLD else word
