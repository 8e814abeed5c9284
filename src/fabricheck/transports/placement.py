"""A transport and the number of nodes that it spans."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabricheck.errors import FabricheckError
from fabricheck.transports.families import families
from fabricheck.transports.table import MEMORY_LANES, TRANSPORTS, Memory, Scope, Transport, find

_WRITTEN = re.compile(
    r"(?P<transport>[a-z][a-z0-9_]*)-(?P<nodes>[1-9]\d{0,6})n(?:-(?P<layout>full))?", re.ASCII
)


def written(transport: str, num_nodes: int, layout: str) -> str:
    """A placement such as ``tcp-2n`` or ``tcp-2n-full``; empty where there is no transport."""
    return "-".join(filter(None, (transport, f"{num_nodes}n", layout))) if transport else ""


def parts(placement: str) -> tuple[str, int, str]:
    """Transport, number of nodes and layout of what ``written`` gave; the transport may be unknown.

    Raises:
        FabricheckError: if it is not ``<transport>-<nodes>n`` or ``<transport>-<nodes>n-full``.
    """
    match = _WRITTEN.fullmatch(placement)
    if not match:
        raise FabricheckError(
            f"FC1005 expected a placement such as tcp-2n or shm-1n, found {placement!r}: write "
            "<transport>-<number of nodes>n, for all cores with -full behind it"
        )
    return match["transport"], int(match["nodes"]), match["layout"] or ""


@dataclass(frozen=True, slots=True)
class Placement:
    """A transport and the nodes that it spans, written ``tcp-2n``, with all their cores
    ``tcp-2n-full``.

    Attributes:
        transport: between the nodes, or inside the only one.
        num_nodes: how many nodes.
        full: whether every core of the nodes has a rank, not one core of each (two of one node).
    """

    transport: Transport
    num_nodes: int
    full: bool = False

    def __str__(self) -> str:
        return written(self.transport.name, self.num_nodes, "full" * self.full)

    @property
    def features(self) -> tuple[str, ...]:
        """What a partition must offer: the transport, the number of nodes, all of their cores."""
        return (
            self.transport.feature,
            f"nodes_{self.num_nodes}",
            *(["full_nodes"] if self.full else []),
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
        name, num_nodes, layout = parts(text)
        transport = find(name)
        if (transport.scope is Scope.INTRA_NODE) != (num_nodes == 1):
            needs = "one node" if transport.scope is Scope.INTRA_NODE else "two nodes or more"
            raise FabricheckError(
                f"FC1006 expected {needs} for transport {transport.name}, found placement "
                f"{text!r}: choose a placement that can exist"
            )
        return cls(transport, num_nodes, bool(layout))


def placements(
    node_counts: Sequence[int], *, full: bool = False, memory: Memory | None = None
) -> list[str]:
    """Every placement of MPI that can exist with these node counts.

    Intra-node transports get one node, inter-node transports two or more; a combination that cannot
    exist is never made. With ``full``, those with a rank on every core; with ``memory``, those of
    the transports for messages from there alone.
    """
    return [
        str(Placement(transport, nodes, full))
        for transport in TRANSPORTS.values()
        if transport.memory is memory and families(transport.name)
        for nodes in node_counts
        if (transport.scope is Scope.INTRA_NODE) == (nodes == 1)
    ]
