"""What is known of a fabric: each node's leaf switch, the leaves' spines, and the routes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ClusterShell.NodeSet import NodeSet, NodeSetException

from fabricheck.errors import FabricheckError
from fabricheck.inputs import FORMAT
from fabricheck.nodes.names import fold

# More than any fabric has; ranges of a damaged file would fill the memory.
MOST_NODES: Final = 200_000
# Switches on a way; more is a loop in the tables.
_MOST_HOPS: Final = 8
_KEYS: Final = ("leaves", "spines", "routes")


@dataclass(frozen=True, slots=True)
class Topology:
    """Leaves, spines and routes, as far as they are known.

    Attributes:
        leaves: the leaf switch of each node; a node that is unknown is absent.
        spines: for each leaf the switches above it, empty if they are unknown.
        routes: for each switch the switch to which it sends what is for a node (a forwarding
            table); a switch is absent if flows choose (ECMP, adaptive routing) or nobody knows.
        doubts: sentences on what a source left open.
    """

    leaves: Mapping[str, str]
    spines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def leaf(self, node: str) -> str | None:
        """The leaf switch of a node; ``None`` if unknown."""
        return self.leaves.get(node)

    def path(self, sender: str, receiver: str) -> tuple[str, ...] | None:
        """The links between switches on the way, such as ``leaf1->spine2`` and ``spine2->leaf3``.

        Empty on one leaf; ``None`` if the way is unknown or depends on more than both nodes.
        """
        here, goal = self.leaves.get(sender), self.leaves.get(receiver)
        if here is None or goal is None:
            return None
        links: list[str] = []
        while here != goal:
            then = self._next(here, goal, receiver)
            if then is None or len(links) == _MOST_HOPS:
                return None
            links.append(f"{here}->{then}")
            here = then
        return tuple(links)

    def _next(self, switch: str, goal: str, receiver: str) -> str | None:
        known = self.routes.get(switch, {}).get(receiver)
        if known is not None:
            return known
        if switch in self.spines.get(goal, ()):
            return goal
        above = self.spines.get(switch, ())
        return above[0] if len(above) == 1 else None

    def spread(self, leaf: str) -> int:
        """Over how many links of a leaf flows choose their way; 1 if they don't, or none is known.

        What is for a node of another leaf goes up by the leaf's own forwarding table.
        """
        return 1 if leaf in self.routes else max(len(self.spines.get(leaf, ())), 1)

    def nodes_of(self) -> dict[str, list[str]]:
        """The nodes of each leaf."""
        found: dict[str, list[str]] = {}
        for node, leaf in self.leaves.items():
            found.setdefault(leaf, []).append(node)
        return found

    def unknown(self, nodes: Sequence[str] = ()) -> Iterator[str]:
        """Sentences on what isn't known, and what that costs.

        Args:
            nodes: those that should be known, such as all of a partition.
        """
        yield from self.doubts
        if missing := [node for node in nodes if node not in self.leaves]:
            yield (
                f"the leaf of {fold(missing)} is unknown: judged beside all others, whatever "
                "the distance"
            )
        below = self.nodes_of()
        if lone := [leaf for leaf, names in below.items() if len(names) == 1]:
            yield f"{fold(lone)} has one node only: node and leaf cannot be separated there"
        if not self.spines:
            yield "the switches above the leaves are unknown: no link of a leaf can be named"
        elif bare := [leaf for leaf in below if not self.spines.get(leaf)]:
            yield f"the switches above {fold(bare)} are unknown: their links have no names"
        many = {leaf for leaf in below if len(self.spines.get(leaf, ())) > 1}
        if chosen := sorted(many - self.routes.keys()):
            yield (
                f"the routes of {fold(chosen)} are unknown (flows choose, or no forwarding "
                "table was recorded): of their links only all together can be named"
            )


def flows_for_paths(paths: int, missed: float = 0.01) -> int:
    """Flows with random hashes that use every one of some equal paths.

    A path is missed by n flows with probability (1 - 1/S)^n <= exp(-n/S), so any of S paths with at
    most S exp(-n/S), which is ``missed`` at n = S ln(S / missed): the coupon collector's problem
    (Motwani and Raghavan, Randomized Algorithms, 1995, section 3.6).

    Args:
        paths: how many there are, S.
        missed: the accepted probability that a path is not used by any flow.

    >>> [flows_for_paths(paths) for paths in (1, 2, 8, 16, 32)]
    [1, 11, 54, 119, 259]
    """
    return 1 if paths <= 1 else math.ceil(paths * math.log(paths / missed))


def nodes_in(text: str) -> list[str]:
    """The names in Slurm's notation: ``n[1-3,7],login``.

    Raises:
        FabricheckError: for what is no such list, or stands for more nodes than fabrics have.
    """
    size = 1
    for part in text.split("[")[1:]:
        size *= sum(map(_span, part.partition("]")[0].split(",")))
    if size > MOST_NODES:
        raise FabricheckError(
            f"FC1713 expected at most {MOST_NODES} nodes, found {text[:60]!r}: correct the list"
        )
    try:
        return list(NodeSet(text))
    except NodeSetException as error:
        raise FabricheckError(
            f"FC1714 expected node names such as n[1-4,7], found {text[:60]!r} ({error}): correct "
            "the list"
        ) from error


def _span(numbers: str) -> int:
    first, _, last = numbers.partition("/")[0].partition("-")
    if not (first.isdecimal() and last.isdecimal()):
        return 1
    # As text of more digits than any node has, a number is large enough.
    most = len(str(MOST_NODES)) + 1
    return max(int(last[:most]) - int(first[:most]), 0) + 1 if len(last) < most else MOST_NODES + 1


def as_json(topology: Topology) -> dict[str, Any]:
    """The topology as ``from_json`` reads it: names of nodes are grouped, as people write them."""
    routes: dict[str, dict[str, list[str]]] = {}
    for switch, table in topology.routes.items():
        for node, then in table.items():
            routes.setdefault(switch, {}).setdefault(then, []).append(node)
    return {
        "leaves": topology.nodes_of(),
        "spines": {leaf: list(above) for leaf, above in topology.spines.items()},
        "routes": routes,
    }


def from_json(value: object) -> Topology:
    """The inverse of ``as_json``, also of what people wrote.

    ``leaves`` gives the nodes of each leaf, ``spines`` the switches above it, ``routes`` for a
    switch and the next one the nodes for which that is the way. Lists of nodes may be text such as
    ``n[1-4]``. Only ``leaves`` is needed.

    Raises:
        FabricheckError: the value is something else; the message names the key.
    """
    given = dict(_mapping(value, "a topology"))
    # What ``--json`` wrote carries the number of its format.
    if (number := given.pop("format", FORMAT)) != FORMAT:
        raise FabricheckError(
            f"FC1720 expected a topology of format {FORMAT}, found {repr(number)[:60]}: write it "
            "again with this version"
        )
    if unknown := sorted(given.keys() - set(_KEYS)):
        raise FabricheckError(f"FC1715 unknown key {unknown[0]!r}: known are {', '.join(_KEYS)}")
    if "leaves" not in given:
        raise FabricheckError(
            "FC1716 expected the key leaves with the nodes of each leaf, found none"
        )
    leaves: dict[str, str] = {}
    for leaf, nodes in _mapping(given["leaves"], "leaves").items():
        for node in _names(nodes, f"leaves > {leaf}"):
            if leaves.setdefault(node, leaf) != leaf:
                raise FabricheckError(
                    f"FC1717 leaves: {node} is at {leaves[node]} and at {leaf}: remove it from one"
                )
    above = _mapping(given.get("spines", {}), "spines")
    spines = {leaf: tuple(_names(names, f"spines > {leaf}")) for leaf, names in above.items()}
    routes = {
        switch: {
            node: then
            for then, nodes in _mapping(table, f"routes > {switch}").items()
            for node in _names(nodes, f"routes > {switch} > {then}")
        }
        for switch, table in _mapping(given.get("routes", {}), "routes").items()
    }
    return Topology(leaves, spines, routes)


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if isinstance(value, Mapping) and all(isinstance(key, str) and key for key in value):
        return value
    raise FabricheckError(f"FC1718 {where}: expected names and values, found {repr(value)[:60]}")


def _names(value: object, where: str) -> list[str]:
    if isinstance(value, str):
        return nodes_in(value)
    if isinstance(value, Sequence) and all(isinstance(each, str) and each for each in value):
        return [str(each) for each in value]
    raise FabricheckError(f"FC1719 {where}: expected a list of names, found {repr(value)[:60]}")
