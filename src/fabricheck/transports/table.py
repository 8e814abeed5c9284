"""The one table of transports, transports.csv: what each is, what it needs and what proves it.

How an MPI family is made to use a transport stands in ``families``. Nothing else in the repository
knows a ``UCX_TLS`` value. The aliases are UCX's own (``ucx_info -f``, section ``UCX_TLS``): ``rc``,
``ud`` and ``dc`` let UCX choose between its drivers and include the ud auxiliary lane that their
wire-up needs; ``rc_v``, ``rc_x``, ``ud_v`` and ``ud_x`` name the driver, verbs or mlx5; ``sm`` is
every shared-memory transport of the node.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.tables import rows


class Scope(StrEnum):
    """Where a transport can carry data."""

    INTER_NODE = "inter-node"
    INTRA_NODE = "intra-node"


class Memory(StrEnum):
    """The memory from which ranks send; either, where the MPI itself may copy to the host."""

    HOST = "host"
    GPU = "gpu"
    EITHER = "either"


class Counter(StrEnum):
    """Which counters of the kernel must witness a transport."""

    NETDEV = "netdev"
    RDMA = "rdma"
    NONE = "none"
    ANY = "any"


RDMA_LANES = frozenset({"rc_verbs", "rc_mlx5", "ud_verbs", "ud_mlx5", "dc_mlx5"})
TCP_LANES = frozenset({"tcp"})
MEMORY_LANES = frozenset({"sysv", "posix", "cma", "xpmem", "knem"})

# UCX copies between GPU and host by these; they reach no other rank.
_COPYING = frozenset({"cuda_copy", "gdr_copy"})
_GROUPS = {"RDMA": RDMA_LANES, "MEMORY": MEMORY_LANES, "COPIES": _COPYING}
"""Words of the table that stand for several lanes."""

IPOIB = "ipoib"
"""Sockets on an interface of InfiniBand: a second one of a partition, named beside ``tcp``."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A way for data to travel between two ranks.

    Attributes:
        name: the name used in placements, references and reports.
        meaning: what it is, in a few words.
        scope: between nodes or inside one.
        feature: what a partition must offer (a ReFrame feature).
        counter: counters that must move with the payload; ``none``: no interface may move with it;
            ``any``: those of the lanes that UCX says it chose.
        ucx_tls: the value of ``UCX_TLS``; ``self`` is for a rank's messages to itself. Empty for
            what is not on UCX.
        lanes: UCX transports that may carry data, as printed in the lines of its endpoint
            configurations.
        port: key of the site's ``ucx_net_devices`` that names its devices; empty for all devices.
        base: the plain transport that uses the same path, its own name where it is one itself.
        memory: the memory that messages must be proved to come from: that of a GPU for CUDA-aware
            MPI; none for programs that know only the host's.
        direct: lanes that must take large messages from memory of a GPU themselves (UCX's
            zero-copy); where there are none, UCX must copy all of them through host memory.
        is_of_gpus: whether only programs on GPUs use it.
    """

    name: str
    meaning: str
    scope: Scope
    feature: str
    counter: Counter
    ucx_tls: str = ""
    lanes: frozenset[str] = frozenset()
    port: str = ""
    base: str = ""
    memory: Memory | None = None
    direct: frozenset[str] = frozenset()
    is_of_gpus: bool = False

    def __post_init__(self) -> None:
        if not self.base:
            object.__setattr__(self, "base", self.name)

    @property
    def wanted(self) -> frozenset[str]:
        """Transports of which a UCX that is to use this one must have at least one."""
        return self.direct or (_COPYING if self.memory is Memory.GPU else self.lanes)


def _lanes(words: str) -> frozenset[str]:
    return frozenset(lane for word in words.split() for lane in _GROUPS.get(word, {word}))


TRANSPORTS: Mapping[str, Transport] = {
    row["name"]: Transport(
        name=row["name"],
        meaning=row["meaning"],
        scope=Scope(row["scope"]),
        feature=row["feature"],
        counter=Counter(row["counter"]),
        ucx_tls=row["ucx_tls"],
        lanes=_lanes(row["lanes"]),
        port=row["port"],
        base=row["base"],
        memory=Memory(row["memory"]) if row["memory"] else None,
        direct=_lanes(row["direct"]),
        is_of_gpus=row["gpus"] == "yes",
    )
    for row in rows(Path(__file__).with_name("transports.csv"))
}


def find(name: str) -> Transport:
    """The transport of that name.

    Raises:
        FabricheckError: if the table has no such transport.
    """
    try:
        return TRANSPORTS[name]
    except KeyError:
        known = ", ".join(TRANSPORTS)
        raise FabricheckError(
            f"expected a transport of the table ({known}), found {name!r}: use one of these names"
        ) from None
