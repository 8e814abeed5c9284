"""The one table of transports: settings, needs and proof for each MPI family.

Nothing else in the repository knows a ``UCX_TLS`` value. The aliases are UCX's own
(``ucx_info -f``, section ``UCX_TLS``): ``rc``, ``ud`` and ``dc`` include the ud auxiliary lane that
their wire-up needs; ``sm`` is every shared-memory transport of the node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fabricheck.errors import FabricheckError


class Scope(StrEnum):
    """Where a transport can carry data."""

    INTER_NODE = "inter-node"
    INTRA_NODE = "intra-node"


class Counter(StrEnum):
    """Which counters of the kernel must witness a transport."""

    NETDEV = "netdev"
    RDMA = "rdma"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Transport:
    """A way for data to travel between two ranks.

    Attributes:
        name: the name used in placements, references and reports.
        scope: between nodes or inside one.
        feature: what a partition must offer (a ReFrame feature).
        ucx_tls: the value of ``UCX_TLS``; ``self`` is added for a rank's messages to itself. Empty
            for what only programs on verbs use.
        lanes: UCX transports that may carry data, as printed in ``ep_cfg`` lines.
        counter: counters that must move with the payload; ``none``: no interface may move with it.
    """

    name: str
    scope: Scope
    feature: str
    ucx_tls: str
    lanes: frozenset[str]
    counter: Counter


TRANSPORTS: Mapping[str, Transport] = {
    transport.name: transport
    for transport in (
        Transport(
            name="rc",
            scope=Scope.INTER_NODE,
            feature="rdma",
            ucx_tls="rc,self",
            lanes=frozenset({"rc_verbs", "rc_mlx5"}),
            counter=Counter.RDMA,
        ),
        Transport(
            name="ud",
            scope=Scope.INTER_NODE,
            feature="rdma",
            ucx_tls="ud,self",
            lanes=frozenset({"ud_verbs", "ud_mlx5"}),
            counter=Counter.RDMA,
        ),
        # UCX has no unreliable connections, and so no MPI has.
        Transport(
            name="uc",
            scope=Scope.INTER_NODE,
            feature="rdma",
            ucx_tls="",
            lanes=frozenset(),
            counter=Counter.RDMA,
        ),
        Transport(
            name="dc",
            scope=Scope.INTER_NODE,
            feature="dc",
            ucx_tls="dc,self",
            lanes=frozenset({"dc_mlx5"}),
            counter=Counter.RDMA,
        ),
        Transport(
            name="tcp",
            scope=Scope.INTER_NODE,
            feature="tcp",
            ucx_tls="tcp,self",
            lanes=frozenset({"tcp"}),
            counter=Counter.NETDEV,
        ),
        Transport(
            name="shm",
            scope=Scope.INTRA_NODE,
            feature="shm",
            ucx_tls="sm,self",
            lanes=frozenset({"sysv", "posix", "cma", "xpmem", "knem"}),
            counter=Counter.NONE,
        ),
    )
}

# Open MPI leaves UCX for ob1 without a word unless the pml is named, and refuses UCX over TCP and
# shared memory unless every UCX transport and device is allowed. MPICH moves messages inside a node
# by its own shared memory, which says nothing about UCX, unless NOLOCAL is set.
_ON_UCX: Mapping[str, Mapping[str, str]] = {
    "openmpi": {
        "OMPI_MCA_pml": "ucx",
        "OMPI_MCA_osc": "ucx",
        "OMPI_MCA_opal_common_ucx_tls": "any",
        "OMPI_MCA_opal_common_ucx_devices": "any",
    },
    "mpich": {
        "MPIR_CVAR_CH4_NETMOD": "ucx",
        "MPIR_CVAR_NOLOCAL": "1",
    },
}

# MVAPICH2 speaks verbs itself. Its hybrid of RC and UD begins with 1024 ranks unless forbidden.
_MVAPICH2 = "mvapich2"
_MVAPICH2_CHOICE: Mapping[str, Mapping[str, str]] = {
    "rc": {"MV2_USE_ONLY_UD": "0", "MV2_USE_UD_HYBRID": "0"},
    "ud": {"MV2_USE_ONLY_UD": "1"},
}

MPI_FAMILIES = (*_ON_UCX, _MVAPICH2)

# UCX names its logs by host and process, so that the lines of two ranks never mix with each other
# or with the benchmark's table.
_UCX_LOGGING: Mapping[str, str] = {
    "UCX_LOG_LEVEL": "info",
    "UCX_LOG_FILE": "ucx.%h.%p.log",
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


def _of_ucx() -> dict[str, Transport]:
    return {name: transport for name, transport in TRANSPORTS.items() if transport.ucx_tls}


def ucx_settings(
    transport: str, devices: Mapping[str, str], gid_index: int | None = None
) -> dict[str, str]:
    """Environment variables that make UCX use a transport and say so.

    Args:
        transport: name of the transport.
        devices: the system's ``UCX_NET_DEVICES`` for each feature (``tcp``, ``rdma``, ``dc``).
        gid_index: the RoCE address to use, an index of the port's GID table; ``None`` lets UCX
            choose.

    Raises:
        FabricheckError: for an unknown transport, and for one that UCX doesn't have.
    """
    chosen = find(transport)
    if not chosen.ucx_tls:
        raise FabricheckError(
            f"expected a transport of UCX ({', '.join(_of_ucx())}), found {transport!r}: "
            "only programs on verbs have it"
        )
    variables = {**_UCX_LOGGING, "UCX_TLS": chosen.ucx_tls}
    if chosen.feature in devices:
        variables["UCX_NET_DEVICES"] = devices[chosen.feature]
    if gid_index is not None and chosen.counter is Counter.RDMA:
        variables["UCX_IB_GID_INDEX"] = str(gid_index)
    return variables


def families(transport: str) -> tuple[str, ...]:
    """The MPI families that can use a transport."""
    on_ucx = tuple(_ON_UCX) if find(transport).ucx_tls else ()
    return on_ucx + ((_MVAPICH2,) if transport in _MVAPICH2_CHOICE else ())


def settings(
    family: str, transport: str, devices: Mapping[str, str], gid_index: int | None = None
) -> dict[str, str]:
    """Environment variables that make an MPI family use a transport and say so.

    Args:
        family: one of ``MPI_FAMILIES``.
        transport: name of the transport.
        devices: as for ``ucx_settings``.
        gid_index: as for ``ucx_settings``.

    Raises:
        FabricheckError: for an unknown family or transport, and for one that the family lacks.
    """
    if family not in MPI_FAMILIES:
        raise FabricheckError(
            f"expected an MPI family of the table ({', '.join(MPI_FAMILIES)}), found {family!r}: "
            "give the environment one of these as extras.mpi_family"
        )
    if family not in families(transport):
        raise FabricheckError(
            f"expected an MPI that has transport {transport} "
            f"({', '.join(families(transport)) or 'none has'}), found {family}: choose another"
        )
    if family == _MVAPICH2:
        return _mvapich2_settings(find(transport), devices, gid_index)
    return {**_ON_UCX[family], **ucx_settings(transport, devices, gid_index)}


def _mvapich2_settings(
    transport: Transport, devices: Mapping[str, str], gid_index: int | None
) -> dict[str, str]:
    # Level 2 lists the parameters as the library applied them. Binding is the scheduler's.
    variables = {
        "MV2_SHOW_ENV_INFO": "2",
        "MV2_ENABLE_AFFINITY": "0",
        **_MVAPICH2_CHOICE[transport.name],
    }
    if device := devices.get(transport.feature):
        variables["MV2_IBA_HCA"], _, port = device.partition(":")
        if port:
            variables["MV2_DEFAULT_PORT"] = port
    else:
        # It takes a card that it doesn't know only by name.
        variables["FABRICHECK_DEVICES"] = "MV2_IBA_HCA"
    if gid_index is not None:
        variables |= {"MV2_USE_RoCE": "1", "MV2_DEFAULT_GID_INDEX": str(gid_index)}
    return variables


def applied_settings(family: str, transport: str) -> Mapping[str, str] | None:
    """What a family that is not on UCX must say that it applied; ``None`` for one on UCX."""
    return _MVAPICH2_CHOICE[transport] if family == _MVAPICH2 else None


@dataclass(frozen=True, slots=True)
class Placement:
    """A transport and the number of nodes that it spans, written ``tcp-2n``."""

    transport: Transport
    num_nodes: int

    def __str__(self) -> str:
        return f"{self.transport.name}-{self.num_nodes}n"

    @property
    def features(self) -> tuple[str, ...]:
        """What a partition must offer: the transport and the number of nodes."""
        return (self.transport.feature, f"nodes-{self.num_nodes}")

    @classmethod
    def read(cls, text: str) -> "Placement":
        """The placement that ``str`` wrote.

        Raises:
            FabricheckError: if it is not ``<transport>-<nodes>n`` or cannot exist.
        """
        name, _, nodes = text.rpartition("-")
        if not (nodes[:-1].isdigit() and nodes.endswith("n")):
            raise FabricheckError(
                f"expected a placement such as tcp-2n, found {text!r}: "
                "write <transport>-<number of nodes>n"
            )
        transport, num_nodes = find(name), int(nodes[:-1])
        if (transport.scope is Scope.INTRA_NODE) != (num_nodes == 1):
            needs = "one node" if transport.scope is Scope.INTRA_NODE else "two nodes or more"
            raise FabricheckError(
                f"expected {needs} for transport {transport.name}, found placement {text!r}: "
                "choose a placement that can exist"
            )
        return cls(transport, num_nodes)


def placements(node_counts: Sequence[int]) -> list[str]:
    """Every placement of MPI that can exist with these node counts.

    Intra-node transports get one node, inter-node transports two or more; a combination that cannot
    exist is never made.
    """
    return [
        str(Placement(transport, nodes))
        for transport in _of_ucx().values()
        for nodes in node_counts
        if (transport.scope is Scope.INTRA_NODE) == (nodes == 1)
    ]
