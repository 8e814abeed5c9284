"""A transport and the number of nodes that it spans."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.transports.families import families
from fabricheck.transports.rails import feature
from fabricheck.transports.table import MEMORY_LANES, TRANSPORTS, Memory, Scope, Transport, find

FULL, LEAF, SPINE = "full", "leaf", "spine"
GROUPS: Final = (LEAF, SPINE)
"""Layouts that say where in the fabric the nodes are: at one leaf switch, or each at another."""
SWITCH_GROUPS: Final = "switch_groups"
_FEATURES: Final[Mapping[str, str]] = {
    FULL: "full_nodes",
    **dict.fromkeys(GROUPS, SWITCH_GROUPS),
}
_WRITTEN = re.compile(
    r"(?P<transport>[a-z][a-z0-9_]*)-(?P<nodes>[1-9]\d{0,6})n"
    rf"(?:-(?P<layout>{'|'.join(_FEATURES)}))?"
    r"(?:@(?P<port>[\w.:=/-]+))?",
    re.ASCII,
)


def written(transport: str, num_nodes: int, layout: str, port: str = "") -> str:
    """A placement such as ``tcp-2n``, ``tcp-2n-full`` or ``rc-2n@mlx5_3:1``; empty where there is
    no transport.
    """
    place = "-".join(filter(None, (transport, f"{num_nodes}n", layout))) if transport else ""
    return f"{place}@{port}" if place and port else place


def parts(placement: str) -> tuple[str, int, str, str]:
    """Transport, number of nodes, layout and port of what ``written`` gave; the transport may be
    unknown.

    Raises:
        FabricheckError: if it is not ``<transport>-<nodes>n``, or that with a layout or
            ``@<port>`` behind it.
    """
    match = _WRITTEN.fullmatch(placement)
    if not match:
        raise FabricheckError(
            f"FC1005 expected a placement such as tcp-2n or shm-1n, found {placement!r}: write "
            "<transport>-<number of nodes>n, for all cores with -full behind it, for nodes of one "
            "leaf switch with -leaf, of several with -spine, for one card with @<port>"
        )
    return match["transport"], int(match["nodes"]), match["layout"] or "", match["port"] or ""


@dataclass(frozen=True, slots=True)
class Placement:
    """A transport and the nodes that it spans, written ``tcp-2n``, with a layout ``tcp-2n-full``.

    Attributes:
        transport: between the nodes, or inside the only one.
        num_nodes: how many nodes.
        layout: ``full`` where every core of the nodes has a rank, not one core of each (two of one
            node); ``leaf`` or ``spine`` where the nodes are at one leaf switch, or each at another.
        port: of the ports of a node, the one that is used; empty for all that the site gives.
    """

    transport: Transport
    num_nodes: int
    layout: str = ""
    port: str = ""

    def __str__(self) -> str:
        return written(self.transport.name, self.num_nodes, self.layout, self.port)

    @property
    def full(self) -> bool:
        """Whether every core of the nodes has a rank."""
        return self.layout == FULL

    @property
    def features(self) -> tuple[str, ...]:
        """What a partition must offer: transport, number of nodes, what the layout needs."""
        return (
            self.transport.feature,
            f"nodes_{self.num_nodes}",
            *([_FEATURES[self.layout]] if self.layout else []),
            *([feature(self.port)] if self.port else []),
        )

    @property
    def carrier(self) -> Transport:
        """What carries the data: beside the transport shared memory, between ranks of a node."""
        if not self.full:
            return self.transport
        return replace(self.transport, lanes=self.transport.lanes | MEMORY_LANES)

    @classmethod
    def read(cls, text: str) -> "Placement":
        """The placement that ``str`` wrote.

        Raises:
            FabricheckError: if it is not ``<transport>-<nodes>n`` or cannot exist.
        """
        name, num_nodes, layout, port = parts(text)
        transport = find(name)
        if (transport.scope is Scope.INTRA_NODE) != (num_nodes == 1):
            needs = "one node" if transport.scope is Scope.INTRA_NODE else "two nodes or more"
            raise FabricheckError(
                f"FC1006 expected {needs} for transport {transport.name}, found placement "
                f"{text!r}: choose a placement that can exist"
            )
        return cls(transport, num_nodes, layout, port)


def placements(
    node_counts: Sequence[int], *, layout: str = "", memory: Memory | None = None
) -> list[str]:
    """Every placement of MPI that can exist with these node counts.

    Intra-node transports get one node, inter-node transports two or more; a combination that cannot
    exist is never made. With ``layout``, those of that layout; with ``memory``, those of the
    transports for messages from there alone.
    """
    return [
        str(Placement(transport, nodes, layout))
        for transport in TRANSPORTS.values()
        if transport.memory is memory and families(transport.name)
        for nodes in node_counts
        if (transport.scope is Scope.INTRA_NODE) == (nodes == 1)
    ]
