"""A transport and the number of nodes that it spans."""

from collections.abc import Sequence
from dataclasses import dataclass

from fabricheck.errors import FabricheckError
from fabricheck.transports.families import families
from fabricheck.transports.table import TRANSPORTS, Scope, Transport, find


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
        for transport in TRANSPORTS.values()
        if families(transport.name)
        for nodes in node_counts
        if (transport.scope is Scope.INTRA_NODE) == (nodes == 1)
    ]
