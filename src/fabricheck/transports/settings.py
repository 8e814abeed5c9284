"""Variables and launcher options of a case: its transport, a site's ports, the ranks' hosts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabricheck.errors import FabricheckError
from fabricheck.schedulers import HOSTS
from fabricheck.schedulers.protocol import Launcher
from fabricheck.transports.families import MPIS, Statement, choice, ucx_variables
from fabricheck.transports.rails import MOST_RAILS, sought
from fabricheck.transports.table import IPOIB, RDMA, TRANSPORTS, Counter, Scope, Transport, find

_OWN_LAUNCHERS = ("mpirun", "mpiexec")


@dataclass(frozen=True, slots=True)
class Ports:
    """Which ports of its nodes a site gives to the suite.

    Attributes:
        devices: ``UCX_NET_DEVICES`` of the keys ``tcp``, ``ipoib`` and ``rdma``; without one UCX
            takes every device.
        rails: the RDMA ports of a node that has several, by names that are the same on all nodes.
        is_roce: whether the RDMA ports are RoCE.
        gid_index: the RoCE address to use, an index of the port's GID table; ``None`` leaves the
            choice to the library.
        service_level: of InfiniBand, on RoCE the priority of the Ethernet frames, 0 to 15.
        traffic_class: the byte of the GRH or IP header with DSCP and ECN, 0 to 255.
        pkey: the InfiniBand partition, without the bit that says full member.
    """

    devices: Mapping[str, str] = field(default_factory=dict)
    rails: tuple[str, ...] = ()
    is_roce: bool = False
    gid_index: int | None = None
    service_level: int | None = None
    traffic_class: int | None = None
    pkey: int | None = None

    def names(self, key: str) -> tuple[str, ...]:
        """The devices of a key, as the site has them; empty where it names none but ``all``."""
        text = self.devices.get(key, "")
        return () if text == "all" else tuple(filter(None, map(str.strip, text.split(","))))

    def named(self, key: str) -> tuple[tuple[str, str], ...]:
        """Device and port of each of them."""
        return tuple((name, port) for name, _, port in (d.partition(":") for d in self.names(key)))

    def variables(
        self, gid_index: str, service_level: str, traffic_class: str = "", pkey: str = ""
    ) -> dict[str, str]:
        """What the site gives, by a library's names for it; none where that has no name."""
        values = {
            gid_index: self.gid_index,
            service_level: self.service_level,
            traffic_class: self.traffic_class,
            pkey: self.pkey,
        }
        given = {name: value for name, value in values.items() if name and value is not None}
        return {name: hex(value) if name == pkey else str(value) for name, value in given.items()}


ANY_PORTS = Ports()
"""What a site gives that says nothing of its ports."""


def ucx_settings(transport: str, ports: Ports = ANY_PORTS) -> dict[str, str]:
    """Environment variables that make UCX use a transport and say so.

    Args:
        transport: name of the transport.
        ports: what the site gives.

    Raises:
        FabricheckError: for an unknown transport, for one that UCX doesn't have, and for IPoIB
            without an interface.
    """
    if not find(transport).ucx_tls:
        on_ucx = ", ".join(name for name, each in TRANSPORTS.items() if each.ucx_tls)
        raise FabricheckError(
            f"FC1007 expected a transport of UCX ({on_ucx}), found {transport!r}: UCX doesn't have "
            "it"
        )
    interfaces(find(transport), ports)
    return {**ucx_variables(transport), **_ucx_ports(find(transport), ports)}


def interfaces(transport: Transport, ports: Ports) -> tuple[str, ...]:
    """The network interfaces that a transport over sockets must use; empty where any will do.

    Raises:
        FabricheckError: for IPoIB without one: only its interface tells it from Ethernet.
    """
    if transport.counter is not Counter.NETDEV:
        return ()
    if transport.is_loopback:
        return ("lo",)
    named = tuple(name for name, _ in ports.named(transport.port))
    if transport.port == IPOIB and not named:
        raise FabricheckError(
            "FC1008 expected the interface of IPoIB (such as ib0) as extras.ucx_net_devices.ipoib "
            f"of a partition that offers {IPOIB}, found {ports.devices.get(IPOIB)!r}: add it to "
            "the site file"
        )
    return named


def settings(family: str, transport: str, ports: Ports = ANY_PORTS) -> dict[str, str]:
    """Environment variables that make an MPI family use a transport and say so.

    Args:
        family: one of ``MPIS``.
        transport: name of the transport.
        ports: what the site gives.

    Raises:
        FabricheckError: for an unknown family or transport, for one that the family lacks, and for
            IPoIB without an interface.
    """
    chosen = choice(family, transport)
    interfaces(find(transport), ports)
    of_site = _OF_SITE[chosen.statement]
    rails = rail_variables(ports) if find(transport).port == RDMA else {}
    return {**chosen.variables, **of_site(find(transport), ports), **rails}


def inside_nodes_too(variables: Mapping[str, str]) -> dict[str, str]:
    """The settings of a transport between nodes, with shared memory between ranks of one.

    An MPI without UCX has its own, which it uses unasked.
    """
    if "UCX_TLS" not in variables:
        return dict(variables)
    return {**variables, "UCX_TLS": f"{variables['UCX_TLS']},sm"}


def launcher_options(family: str, launcher: str, variables: Iterable[str]) -> list[str]:
    """Options of a launcher that carry environment variables to the ranks on other nodes.

    Args:
        family: the MPI family.
        launcher: ReFrame's name of the launcher.
        variables: names of the variables that the case sets.
    """
    given = MPIS[family].given if family in MPIS else ""
    if not given or launcher not in _OWN_LAUNCHERS:
        return []
    named = [name for name in variables if not name.startswith(given)]
    return [option for name in named for option in ("-x", name)]


def rail_variables(ports: Ports) -> dict[str, str]:
    """What lets ``rank.sh`` find the ports of its node that a site names alike on all."""
    if not (rails := ports.rails):
        return {}
    spread = {"UCX_MAX_RNDV_RAILS": str(min(len(rails), MOST_RAILS))} if len(rails) > 1 else {}
    return {"FABRICHECK_RAILS": ",".join(map(sought, rails)), **spread}


def _ucx_ports(transport: Transport, ports: Ports) -> dict[str, str]:
    variables = {}
    if transport.port in ports.devices:
        variables["UCX_NET_DEVICES"] = ports.devices[transport.port]
    elif not transport.port and transport.scope is Scope.INTER_NODE:
        variables["UCX_NET_DEVICES"] = "all"
    if transport.counter in (Counter.RDMA, Counter.ANY):
        names = ("UCX_IB_GID_INDEX", "UCX_IB_SL", "UCX_IB_TRAFFIC_CLASS", "UCX_IB_PKEY")
        variables |= ports.variables(*names)
    return variables


def _mvapich2_ports(transport: Transport, ports: Ports) -> dict[str, str]:
    if transport.counter is not Counter.RDMA:
        return {}
    variables = {}
    if named := ports.named(transport.port):
        variables["MV2_IBA_HCA"] = ":".join(dict.fromkeys(device for device, _ in named))
        if port := named[0][1]:
            variables["MV2_DEFAULT_PORT"] = port
    else:
        # It takes a card that it doesn't know only by name.
        variables["FABRICHECK_DEVICES"] = "MV2_IBA_HCA"
    if ports.is_roce:
        variables["MV2_USE_RoCE"] = "1"
    names = ("MV2_DEFAULT_GID_INDEX", "MV2_DEFAULT_SERVICE_LEVEL", "", "MV2_DEFAULT_PKEY")
    return {**variables, **ports.variables(*names)}


def _btl_ports(transport: Transport, ports: Ports) -> dict[str, str]:
    if transport.port not in ports.devices:
        return {}
    return {"OMPI_MCA_btl_tcp_if_include": ports.devices[transport.port]}


def _provider_ports(transport: Transport, ports: Ports) -> dict[str, str]:
    names = {"tcp": "FI_TCP_IFACE", "rdma": "FI_VERBS_DEVICE_NAME"}
    named = ports.named(transport.port)
    return {names[transport.port]: named[0][0]} if named else {}


def _nemesis_ports(transport: Transport, ports: Ports) -> dict[str, str]:
    named = interfaces(transport, ports)
    return {"MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE": named[0]} if named else {}


_OF_SITE = {
    Statement.UCX: _ucx_ports,
    Statement.PROTOCOLS: _ucx_ports,
    Statement.PARAMETERS: _mvapich2_ports,
    Statement.BTL: _btl_ports,
    Statement.PROVIDER: _provider_ports,
    Statement.DEVICE: _nemesis_ports,
}


_LIST = "hosts.list"


@dataclass(frozen=True, slots=True)
class Listing:
    """What makes a launcher follow the list.

    Attributes:
        commands: to run before it; they write the list.
        options: of the launcher.
        variables: of its environment.
    """

    commands: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    variables: Mapping[str, str] = field(default_factory=dict)


def listing(places: Sequence[int], num_nodes: int, launcher: Launcher, family: str) -> Listing:
    """How a launcher is told the node of each rank; nothing on one node.

    Args:
        places: number of the node of each rank, from 0.
        num_nodes: nodes of the job.
        launcher: of the partition.
        family: MPI family, whose ``mpirun`` it is.
    """
    if num_nodes == 1:
        return Listing()
    commands = [f"{HOSTS} {' '.join(map(str, places))} >{_LIST}"]
    if launcher.list_variable:
        options = [option.format(len(places)) for option in launcher.listed]
        return Listing(commands, options, {launcher.list_variable: _LIST})
    return Listing(commands, MPIS[family].hosts.format(_LIST).split())
