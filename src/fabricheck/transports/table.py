"""The one table of transports: what each is, what it needs and which witnesses prove it.

How an MPI family is made to use a transport stands in ``families``. Nothing else in the repository
knows a ``UCX_TLS`` value. The aliases are UCX's own (``ucx_info -f``, section ``UCX_TLS``): ``rc``,
``ud`` and ``dc`` let UCX choose between its drivers and include the ud auxiliary lane that their
wire-up needs; ``rc_v``, ``rc_x``, ``ud_v`` and ``ud_x`` name the driver, verbs or mlx5; ``sm`` is
every shared-memory transport of the node.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fabricheck.errors import FabricheckError


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

_RC = {"rc_verbs", "rc_mlx5"}
# UCX copies between GPU and host by these; they reach no other rank.
_COPYING = frozenset({"cuda_copy", "gdr_copy"})

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

    def __post_init__(self) -> None:
        if not self.base:
            object.__setattr__(self, "base", self.name)

    @property
    def is_of_gpus(self) -> bool:
        """Whether only programs on GPUs use it."""
        return self in (*_ON_GPUS, *_NCCL)

    @property
    def wanted(self) -> frozenset[str]:
        """Transports of which a UCX that is to use this one must have at least one."""
        return self.direct or (_COPYING if self.memory is Memory.GPU else self.lanes)


def _rdma(
    name: str, meaning: str, *, feature: str, ucx_tls: str, lanes: set[str], base: str = ""
) -> Transport:
    """A transport between nodes whose data pass RDMA ports."""
    return Transport(
        name=name,
        meaning=meaning,
        scope=Scope.INTER_NODE,
        feature=feature,
        counter=Counter.RDMA,
        ucx_tls=ucx_tls,
        lanes=frozenset(lanes),
        port="rdma",
        base=base,
    )


_PLAIN = (
    _rdma(
        "rc",
        "reliable connections",
        feature="rdma",
        ucx_tls="rc,self",
        lanes=_RC,
    ),
    _rdma(
        "ud",
        "unreliable datagrams",
        feature="rdma",
        ucx_tls="ud,self",
        lanes={"ud_verbs", "ud_mlx5"},
    ),
    # UCX has no unreliable connections, and so no MPI has.
    _rdma("uc", "unreliable connections", feature="rdma", ucx_tls="", lanes=set()),
    _rdma(
        "dc",
        "dynamic connections, which only mlx5 has",
        feature="dc",
        ucx_tls="dc,self",
        lanes={"dc_mlx5"},
    ),
    Transport(
        name="tcp",
        meaning="sockets",
        scope=Scope.INTER_NODE,
        feature="tcp",
        counter=Counter.NETDEV,
        ucx_tls="tcp,self",
        lanes=TCP_LANES,
        port="tcp",
    ),
    Transport(
        name="shm",
        meaning="shared memory of a node",
        scope=Scope.INTRA_NODE,
        feature="shm",
        counter=Counter.NONE,
        ucx_tls="sm,self",
        lanes=MEMORY_LANES,
    ),
)

# Each is offered by a feature of its own name, so that a site gets only those that it wants to see.
_VARIANTS = (
    Transport(
        name="auto",
        meaning="what UCX itself chooses of all that it has",
        scope=Scope.INTER_NODE,
        feature="auto",
        counter=Counter.ANY,
        ucx_tls="all",
        lanes=RDMA_LANES | TCP_LANES | MEMORY_LANES,
    ),
    _rdma(
        "rc_verbs",
        "reliable connections by the verbs driver of UCX",
        feature="rc_verbs",
        ucx_tls="rc_v,self",
        lanes={"rc_verbs"},
        base="rc",
    ),
    _rdma(
        "rc_mlx5",
        "reliable connections by the mlx5 driver of UCX",
        feature="rc_mlx5",
        ucx_tls="rc_x,self",
        lanes={"rc_mlx5"},
        base="rc",
    ),
    _rdma(
        "ud_verbs",
        "unreliable datagrams by the verbs driver of UCX",
        feature="ud_verbs",
        ucx_tls="ud_v,self",
        lanes={"ud_verbs"},
        base="ud",
    ),
    _rdma(
        "ud_mlx5",
        "unreliable datagrams by the mlx5 driver of UCX",
        feature="ud_mlx5",
        ucx_tls="ud_x,self",
        lanes={"ud_mlx5"},
        base="ud",
    ),
    # README of the MPI AI Cluster Benchmark, "UCX Transport Settings", with UCX_NET_DEVICES=all.
    Transport(
        name="ud_verbs_sm",
        meaning="datagrams between nodes, shared memory inside, all devices",
        scope=Scope.INTER_NODE,
        feature="ud_verbs_sm",
        counter=Counter.RDMA,
        ucx_tls="ud_verbs,self,sm",
        lanes=MEMORY_LANES | {"ud_verbs"},
        base="ud",
    ),
    _rdma(
        "hybrid",
        "MVAPICH2's mixture of datagrams and reliable connections",
        feature="hybrid",
        ucx_tls="",
        lanes=set(),
        base="rc",
    ),
    Transport(
        name=IPOIB,
        meaning="sockets over InfiniBand, by an interface of IPoIB",
        scope=Scope.INTER_NODE,
        feature=IPOIB,
        counter=Counter.NETDEV,
        ucx_tls="tcp,self",
        lanes=TCP_LANES,
        port=IPOIB,
        base="tcp",
    ),
    Transport(
        name="ob1_tcp",
        meaning="Open MPI's own path over sockets, without UCX",
        scope=Scope.INTER_NODE,
        feature="ob1_tcp",
        counter=Counter.NETDEV,
        port="tcp",
        base="tcp",
    ),
    Transport(
        name="ob1_shm",
        meaning="Open MPI's own path over shared memory, without UCX",
        scope=Scope.INTRA_NODE,
        feature="ob1_shm",
        counter=Counter.NONE,
        base="shm",
    ),
)

# For buffers in memory of a GPU, of MPIs whose UCX has CUDA; shared memory and sockets carry what
# UCX copies to the host itself.
_ON_GPUS = (
    Transport(
        name="cuda_ipc",
        meaning="memory of GPUs, which one GPU reads or writes for the other",
        scope=Scope.INTRA_NODE,
        feature="cuda_ipc",
        counter=Counter.NONE,
        ucx_tls="sm,self,cuda_copy,cuda_ipc",
        lanes=MEMORY_LANES | _COPYING | {"cuda_ipc"},
        base="shm",
        memory=Memory.GPU,
        direct=frozenset({"cuda_ipc"}),
    ),
    Transport(
        name="cuda_copy",
        meaning="memory of GPUs, which UCX copies through shared memory of the node",
        scope=Scope.INTRA_NODE,
        feature="cuda_copy",
        counter=Counter.NONE,
        ucx_tls="sm,self,cuda_copy",
        lanes=MEMORY_LANES | _COPYING,
        base="shm",
        memory=Memory.GPU,
    ),
    Transport(
        name="tcp_cuda",
        meaning="memory of GPUs, which UCX copies through sockets",
        scope=Scope.INTER_NODE,
        feature="tcp_cuda",
        counter=Counter.NETDEV,
        ucx_tls="tcp,self,cuda_copy",
        lanes=TCP_LANES | _COPYING,
        port="tcp",
        base="tcp",
        memory=Memory.GPU,
    ),
    Transport(
        name="rc_cuda",
        meaning="memory of GPUs, which the cards read and write (GPUDirect RDMA)",
        scope=Scope.INTER_NODE,
        feature="rc_cuda",
        counter=Counter.RDMA,
        ucx_tls="rc,self,cuda_copy,gdr_copy",
        lanes=_COPYING | _RC,
        port="rdma",
        base="rc",
        memory=Memory.GPU,
        direct=frozenset(_RC),
    ),
    Transport(
        name="rc_cuda_nogdr",
        meaning="the same without GPUDirect RDMA: UCX copies through host memory",
        scope=Scope.INTER_NODE,
        feature="rc_cuda_nogdr",
        counter=Counter.RDMA,
        ucx_tls="rc,self,cuda_copy",
        lanes=_COPYING | _RC,
        port="rdma",
        base="rc",
        memory=Memory.GPU,
    ),
)

# What NCCL takes by itself; its lanes are the ways of its channels, in its own words.
_NCCL = (
    Transport(
        name="nccl_node",
        meaning="NCCL between GPUs of a node, directly or by its shared memory",
        scope=Scope.INTRA_NODE,
        feature="nccl_node",
        counter=Counter.NONE,
        lanes=frozenset({"P2P", "SHM"}),
        base="shm",
    ),
    Transport(
        name="nccl_ib",
        meaning="NCCL over RDMA ports",
        scope=Scope.INTER_NODE,
        feature="nccl_ib",
        counter=Counter.RDMA,
        lanes=frozenset({"NET/IB"}),
        port="rdma",
        base="rc",
    ),
    Transport(
        name="nccl_socket",
        meaning="NCCL over sockets",
        scope=Scope.INTER_NODE,
        feature="nccl_socket",
        counter=Counter.NETDEV,
        lanes=frozenset({"NET/Socket"}),
        port="tcp",
        base="tcp",
    ),
)

TRANSPORTS: Mapping[str, Transport] = {
    each.name: each for each in (*_PLAIN, *_VARIANTS, *_ON_GPUS, *_NCCL)
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
