"""The places of a fabric that can be at fault, and which of them a measurement passes.

A place is a direction: a node sends, a node receives, a leaf's links up or down, one link between
switches. Places are numbers here; ``Fabric.name`` has their names.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_WAYS: Final = ("sends", "receives")
_LEAVES: Final = ("up", "down")


class Routes(Protocol):
    """What is known of a fabric's topology (``topology.Topology``)."""

    def leaf(self, node: str) -> str | None:
        """The leaf switch of a node; ``None`` if unknown."""

    def path(self, sender: str, receiver: str) -> tuple[str, ...] | None:
        """The links between switches on the way; ``None`` if unknown."""

    def spread(self, leaf: str) -> int:
        """Over how many links of a leaf flows choose their way; 1 if they don't."""


class Fabric:
    """Nodes and, where a topology is known, their leaves and links.

    Attributes:
        nodes: their names.
        leaves: names of the leaf switches; empty if none is known.
        leaf: number of each node's leaf, -1 if unknown.
        spread: over how many links of each leaf flows choose their way.
    """

    def __init__(self, nodes: Sequence[str], routes: Routes | None = None) -> None:
        self.nodes = tuple(nodes)
        self._routes = routes
        names = [(routes.leaf(node) if routes else None) or "" for node in nodes]
        self.leaves = tuple(sorted({name for name in names if name}))
        numbers = {name: number for number, name in enumerate(self.leaves)}
        self.leaf: Ints = np.array([numbers.get(name, -1) for name in names], dtype=np.int64)
        links = [routes.spread(name) if routes else 1 for name in self.leaves]
        self.spread: Ints = np.array(links, dtype=np.int64)
        self._links: dict[str, int] = {}
        self._paths: dict[tuple[int, int], tuple[int, ...]] = {}

    @property
    def size(self) -> int:
        """How many places are known up to now; links become known as they are measured."""
        return 2 * (len(self.nodes) + len(self.leaves)) + len(self._links)

    @property
    def is_spread(self) -> bool:
        """Whether flows choose their way somewhere."""
        return bool((self.spread > 1).any())

    @property
    def leaf_places(self) -> slice:
        """The places that are leaves: first all up, then all down."""
        first = 2 * len(self.nodes)
        return slice(first, first + 2 * len(self.leaves))

    def is_across(self, senders: Ints, receivers: Ints) -> npt.NDArray[np.bool_]:
        """Whether a measurement left its leaf; all are taken to where no leaf is known."""
        mine, theirs = self.leaf[senders], self.leaf[receivers]
        return np.asarray((mine != theirs) | (mine < 0))

    def passed(self, senders: Ints, receivers: Ints) -> Ints:
        """The places that measurements pass.

        Returns:
            measurements × places, -1 where a measurement has fewer.
        """
        nodes, first_leaf = len(self.nodes), 2 * len(self.nodes)
        mine, theirs = self.leaf[senders], self.leaf[receivers]
        across = self.is_across(senders, receivers)
        columns = [
            senders,
            nodes + receivers,
            np.where(across & (mine >= 0), first_leaf + mine, -1),
            np.where(across & (theirs >= 0), first_leaf + len(self.leaves) + theirs, -1),
        ]
        return np.column_stack([*columns, *self._links_passed(senders, receivers)])

    def node_of(self, place: int) -> int | None:
        """The node whose sending or receiving a place is; ``None`` for another place."""
        return place % len(self.nodes) if place < 2 * len(self.nodes) else None

    def name(self, place: int) -> str:
        """``n3 sends``, ``leaf1 up`` or ``leaf1->spine2``."""
        nodes, leaves = len(self.nodes), len(self.leaves)
        if place < 2 * nodes:
            return f"{self.nodes[place % nodes]} {_WAYS[place // nodes]}"
        place -= 2 * nodes
        if place < 2 * leaves:
            return f"{self.leaves[place % leaves]} {_LEAVES[place // leaves]}"
        return list(self._links)[place - 2 * leaves]

    def _links_passed(self, senders: Ints, receivers: Ints) -> list[Ints]:
        if self._routes is None:
            return []
        ways = list(zip(senders.tolist(), receivers.tolist(), strict=True))
        for way in set(ways).difference(self._paths):
            names = self._routes.path(*(self.nodes[end] for end in way)) or ()
            self._paths[way] = tuple(self._number(name) for name in names)
        paths = [self._paths[way] for way in ways]
        longest = max(map(len, paths), default=0)
        return [
            np.array([path[step] if step < len(path) else -1 for path in paths], dtype=np.int64)
            for step in range(longest)
        ]

    def _number(self, link: str) -> int:
        number = self._links.setdefault(link, len(self._links))
        return 2 * (len(self.nodes) + len(self.leaves)) + number
