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
from fabricheck.tables import A_ROW, NAME, TEXT, YES_NO, Cell, many, maybe, one_of, pattern, rows


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
_OF_GPUS = frozenset({"cuda_ipc", "P2P", "SHM", "NET/IB", "NET/Socket"})
_ALIAS = "(all|self|tcp|sm|cuda_copy|cuda_ipc|gdr_copy|dc|rc|rc_v|rc_x|ud|ud_v|ud_x|ud_verbs)"
_GROUPS = {"RDMA": RDMA_LANES, "MEMORY": MEMORY_LANES, "COPIES": _COPYING}
"""Words of the table that stand for several lanes."""

RDMA = "rdma"
"""The key of RDMA ports where a site names devices."""

IPOIB = "ipoib"
"""Sockets on an interface of InfiniBand: a second one of a partition, named beside ``tcp``."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A way for data to travel between two ranks.

    Attributes:
        name: the name used in placements, references and reports.
        meaning: what it is, in a few words.
        scope: between nodes or inside one.
        feature: what a partition must offer (a ReFrame feature); empty for one of its own name.
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
        object.__setattr__(self, "base", self.base or self.name)
        object.__setattr__(self, "feature", self.feature or self.name)

    @property
    def is_loopback(self) -> bool:
        """Whether it is sockets inside a node, over the interface ``lo``, which no site names."""
        return self.scope is Scope.INTRA_NODE and self.counter is Counter.NETDEV

    @property
    def wanted(self) -> frozenset[str]:
        """Transports of which a UCX that is to use this one must have at least one."""
        return self.direct or (_COPYING if self.memory is Memory.GPU else self.lanes)


_ALONE = {name: {name} for name in sorted(RDMA_LANES | TCP_LANES | _OF_GPUS)}
_WORDS = many(one_of({**_ALONE, **_GROUPS}))
_LANES = Cell(_WORDS.form, lambda words: frozenset[str]().union(*_WORDS.read(words)))
_COLUMNS = {
    "name": NAME,
    "scope": one_of(Scope),
    "feature": maybe(one_of((RDMA,)), ""),
    "counter": one_of(Counter),
    "ucx_tls": maybe(pattern(f"{_ALIAS}(,{_ALIAS})*", "rc,self"), ""),
    "lanes": _LANES,
    "port": maybe(one_of((RDMA, "tcp", IPOIB)), ""),
    "base": A_ROW,
    "memory": maybe(one_of(Memory)),
    "direct": _LANES,
    "gpus": maybe(YES_NO, nothing=False),
    "meaning": TEXT,
}
TRANSPORTS: Mapping[str, Transport] = {
    row["name"]: Transport(is_of_gpus=row.pop("gpus"), **row)
    for row in rows(Path(__file__).with_name("transports.csv"), _COLUMNS)
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
            f"FC1009 expected a transport of the table ({known}), found {name!r}: use one of these "
            "names"
        ) from None
