"""The fabrics of a testbed: one bridge, or leaves and spines that are routers.

In a leaf-spine fabric every leaf has two nodes and a cable to each of two spines. The nodes keep a
second interface to the bridge, over which Slurm manages them as over the management network of a
cluster: what is done to the fabric never costs it a node. Leaves and spines are namespaces of their
own. A leaf joins its nodes to one subnet, and routes to those of the others through the spines:
``leaf-spine`` spreads flows by a hash of addresses and ports (ECMP, layer 4, as RoCE fabrics do),
``leaf-spine-lft`` has one spine for each destination, as InfiniBand's forwarding tables do.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from fabricheck_testbed import layout

BRIDGE: Final = "bridge"
LEAF_SPINE: Final = "leaf-spine"
LEAF_SPINE_LFT: Final = "leaf-spine-lft"
FABRICS: Final = (BRIDGE, LEAF_SPINE, LEAF_SPINE_LFT)
NODES_PER_LEAF: Final = 2
SPINES: Final = ("spine1", "spine2")
# Rates that two cores carry, with eight nodes that send and receive. An up-link carries what its
# leaf's nodes send together, so that flows that meet on one don't slow each other.
NODE_RATE: Final = "100mbit"
UPLINK_RATE: Final = "220mbit"
# What the kernel hands on as one packet: large enough for two cores, small beside a message.
_PACKET: Final = 6000
_ROUTER: Final = re.compile(r"(leaf|spine)([1-9][0-9]*)")
# The first group of next hops; the numbers below it are the single ones.
_GROUP: Final = 100
ROUTER_SETTINGS: Final = {
    "ip_forward": "1",
    "fib_multipath_hash_policy": "1",
    "conf/all/ignore_routes_with_linkdown": "1",
    # The way back may be another one.
    "conf/all/rp_filter": "0",
    "conf/default/rp_filter": "0",
}


class Cable(NamedTuple):
    """A leaf and what is below or above it, with the rate of each direction."""

    leaf: str
    other: str
    rate: str

    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Host and interface of both ends: what the first one sends reaches the second."""
        far = layout.INTERFACE if self.other.startswith("n") else self.leaf
        return (self.leaf, self.other), (self.other, far)


def is_router(host: str) -> bool:
    """Whether the name is that of a leaf or a spine."""
    return _ROUTER.fullmatch(host) is not None


def number(host: str) -> int:
    """The number in a host's name."""
    return int(host.lstrip("abcdefghijklmnopqrstuvwxyz"))


def leaf_of(node: str) -> str:
    """The leaf to which a node is connected."""
    return f"leaf{(number(node) - 1) // NODES_PER_LEAF + 1}"


def leaves(nodes: int) -> list[str]:
    """The leaves of a fabric of ``nodes`` nodes."""
    return list(nodes_of(nodes))


def routers(fabric: str, nodes: int) -> list[str]:
    """All leaves and spines; none where a bridge is the fabric."""
    return [] if fabric == BRIDGE else [*leaves(nodes), *SPINES]


def cables(fabric: str, nodes: int) -> list[Cable]:
    """All cables of the fabric; those to the management bridge are none of it."""
    if fabric == BRIDGE:
        return []
    down = [Cable(leaf_of(node), node, NODE_RATE) for node in layout.node_names(nodes)]
    return [*down, *(Cable(leaf, spine, UPLINK_RATE) for leaf in leaves(nodes) for spine in SPINES)]


def management(host: str, fabric: str) -> str:
    """The interface through which Slurm reaches a node."""
    return layout.INTERFACE if fabric == BRIDGE or host == layout.LOGIN else layout.MANAGEMENT


def address(node: str) -> str:
    """A node's address in the fabric."""
    return f"{_subnet(leaf_of(node))}.{number(node)}"


def _subnet(leaf: str) -> str:
    return f"{layout.FABRIC_PREFIX}.{number(leaf)}"


def _uplink(leaf: str, spine: str) -> tuple[str, str]:
    """The addresses of leaf and spine on the cable between them."""
    prefix, first = f"{layout.UPLINK_PREFIX}.{number(leaf)}", 2 * number(spine)
    return f"{prefix}.{first}", f"{prefix}.{first + 1}"


def spine_for(node: str) -> str:
    """The spine through which ``leaf-spine-lft`` sends what is for a node."""
    return SPINES[(number(node) - 1) % len(SPINES)]


def plug(host: str, fabric: str, nodes: int) -> Iterator[str]:
    """The ``ip`` commands that plug a host's cables in; they may be repeated."""
    for cable in cables(fabric, nodes):
        for here, interface in cable.ends():
            if here == host:
                joined = f" master {layout.BRIDGE}" if interface.startswith("n") else ""
                yield f"link set {interface}{joined} up gso_max_size {_PACKET}"


def setup(host: str, fabric: str, nodes: int) -> Iterator[str]:
    """The ``ip`` commands for a host's addresses and routes, once its cables carry something.

    They may be repeated: the kernel forgets them when a cable is pulled.
    """
    if fabric != BRIDGE and host.startswith("n"):
        yield f"address replace {address(host)}/24 brd + dev {layout.INTERFACE}"
        yield f"route replace {layout.FABRIC_PREFIX}.0.0/16 via {_subnet(leaf_of(host))}.254"
    if host.startswith("leaf"):
        yield from _leaf(host, fabric, nodes)
    if host.startswith("spine"):
        for leaf in leaves(nodes):
            below, own = _uplink(leaf, host)
            yield f"address replace {own}/31 dev {leaf}"
            yield f"route replace {_subnet(leaf)}.0/24 via {below} dev {leaf}"


def _leaf(leaf: str, fabric: str, nodes: int) -> Iterator[str]:
    yield f"address replace {_subnet(leaf)}.254/24 brd + dev {layout.BRIDGE}"
    for hop, spine in enumerate(SPINES, 1):
        own, above = _uplink(leaf, spine)
        yield f"address replace {own}/31 dev {spine}"
        yield f"nexthop replace id {hop} via {above} dev {spine}"
    group = "/".join(str(hop) for hop, _ in enumerate(SPINES, 1))
    yield f"nexthop replace id {_GROUP} group {group}"
    yield f"route replace {layout.FABRIC_PREFIX}.0.0/16 nhid {_GROUP}"
    for node in layout.node_names(nodes) if fabric == LEAF_SPINE_LFT else ():
        if leaf_of(node) != leaf:
            hop = SPINES.index(spine_for(node)) + 1
            yield f"route replace {address(node)}/32 nhid {hop}"


def queues(host: str, fabric: str, nodes: int) -> list[str]:
    """The ``tc`` commands that give a host's interfaces their rates."""
    return [
        f"qdisc replace dev {interface} {usual_queue(cable.rate)}"
        for cable in cables(fabric, nodes)
        for here, interface in cable.ends()
        if here == host
    ]


def usual_queue(rate: str) -> str:
    """The queue of an interface without a fault, as tc-tbf(8) words it."""
    return f"root handle {USUAL_HANDLE}: tbf rate {rate} burst 16kb latency 100ms"


# By its handle a usual queue is known from that of a fault.
USUAL_HANDLE: Final = "fab"


def nodes_of(nodes: int) -> dict[str, list[str]]:
    """The nodes of each leaf."""
    below: dict[str, list[str]] = {}
    for node in layout.node_names(nodes):
        below.setdefault(leaf_of(node), []).append(node)
    return below


def topology_conf(nodes: int) -> str:
    """Slurm's topology.conf; both spines are one switch there, because it has to be a tree."""
    below = nodes_of(nodes)
    lines = [f"SwitchName={leaf} Nodes={','.join(names)}" for leaf, names in below.items()]
    return "\n".join([*lines, f"SwitchName=spines Switches={','.join(below)}"]) + "\n"


def topology(fabric: str, nodes: int) -> dict[str, object]:
    """The fabric as ``localise.topology.from_json`` reads it."""
    below = nodes_of(nodes)
    through = {
        spine: [n for n in layout.node_names(nodes) if spine_for(n) == spine] for spine in SPINES
    }
    is_lft = fabric == LEAF_SPINE_LFT
    return {
        "leaves": below,
        "spines": dict.fromkeys(below, SPINES),
        "routes": dict.fromkeys(below, through) if is_lft else {},
    }
