"""Which nodes a case gets: in turn, first those on which nothing was measured for longest.

A night says when each node was measured last, and whether the site wants all of them in turn; else
the scheduler chooses, but for the nodes of switch groups. A node that can't run a job now is never
waited for: it comes first another night.
"""

import functools
import itertools
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.localise.recorded import load, topology_of
from fabricheck.nodes.names import fold
from fabricheck.reframe_ext.reframe import nodes_in_state, nodes_of
from fabricheck.schedulers import scheduler_of
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.placement import GROUPS, LEAF, Placement

ROTA: Final = "FABRICHECK_ROTA"
"""Environment variable with the file of a night's rota (``planning.night.turns``); without one, or
if it is empty, nodes have no past."""


@functools.cache
def leaves_of(topology: str) -> Mapping[str, str]:
    """The leaf switch of each node, by the extra ``topology`` of a partition.

    Raises:
        FabricheckError: if the file is missing, or says nothing of a leaf.
    """
    path = topology_of(topology)
    return load(path).leaves if path else {}


def has_groups(leaves: Mapping[str, str]) -> bool:
    """Whether there are two leaves or more, and one with two nodes: cases inside and across."""
    sizes = Counter(leaves.values())
    return len(sizes) > 1 and max(sizes.values()) > 1


def misplaced(place: Placement, hosts: Collection[str], leaves: Mapping[str, str]) -> list[str]:
    """Why a case was not measured where its placement says; nothing if it was."""
    if place.layout not in GROUPS:
        return []
    found = [leaves.get(host, "unknown") for host in hosts]
    wanted = 1 if place.layout == LEAF else place.num_nodes
    if len(set(found)) == wanted and "unknown" not in found:
        return []
    where = ", ".join(f"{host} at {leaf}" for host, leaf in zip(hosts, found, strict=True))
    return [
        f"expected {place.num_nodes} nodes at {wanted} leaf switch{'es' * (wanted > 1)}, found "
        f"{where or 'no hosts'}: see whether the topology of the site is that of the fabric"
    ]


class Rota:
    """The turns of a session.

    Attributes:
        stated: of each partition its nodes, those that could not run a job, and those that were
            chosen by name; for the record.
    """

    def __init__(self) -> None:
        self.stated: dict[str, dict[str, list[str]]] = {}
        self._handed: Counter[Any] = Counter()

    @functools.cached_property
    def _given(self) -> Mapping[str, Any]:
        path = os.environ.get(ROTA)
        given: Mapping[str, Any] = json.loads(Path(path).read_text()) if path else {}
        return given

    @property
    def of_all(self) -> bool:
        """Whether every case gets nodes in turn, not only those of switch groups."""
        return bool(self._given.get("every"))

    def order(self, names: Iterable[str], leaves: Mapping[str, str]) -> list[str]:
        """Nodes in the order of their turns; those of a night stay together by their leaves."""
        last = self._given.get("last", {})
        return sorted(
            names,
            key=lambda name: (
                *(self._handed[name], last.get(name, ""), leaves.get(name, "")),
                *(len(name), name),
            ),
        )

    def pick(self, names: Iterable[str], place: Placement, leaves: Mapping[str, str]) -> list[str]:
        """The nodes of a case; none where these are too few for its placement."""
        count, order = place.num_nodes, self.order(names, leaves)
        if place.layout not in GROUPS:
            return order[:count] if len(order) >= count else []
        groups: dict[str, list[str]] = {}
        for node in order:
            if node in leaves:
                groups.setdefault(leaves[node], []).append(node)
        if place.layout == LEAF:
            return next((each[:count] for each in groups.values() if len(each) >= count), [])
        ways = itertools.combinations(groups, count)
        chosen = min(ways, key=lambda way: self._handed[frozenset(way)], default=())
        self._handed[frozenset(chosen)] += 1
        return [groups[leaf][0] for leaf in chosen]

    def hand_out(self, names: Sequence[str]) -> None:
        """Let nodes that a case gets come last from now on."""
        self._handed.update(names)

    def choose(self, partition: str, names: Iterable[str]) -> None:
        """State that nodes were chosen by name."""
        told = self.stated.setdefault(partition, {})
        told["chosen"] = sorted({*told.get("chosen", ()), *names})

    def idle(self, job: Any, partition: str, state: str) -> list[str]:
        """The nodes of a partition that can run a job now.

        Raises:
            NotImplementedError: if its scheduler can't list them.
        """
        nodes = nodes_of(job)
        usable = {node.name for node in nodes_in_state(job, nodes, state)}
        self.note(partition, {node.name: node.name in usable for node in nodes})
        return [node.name for node in nodes if node.name in usable]

    def free(self, partition: str) -> list[str]:
        """The nodes of a partition that could run a job when it was looked at last."""
        told = self.stated.get(partition, {})
        return [name for name in told.get("nodes", ()) if name not in told["busy"]]

    def note(self, partition: str, nodes: Mapping[str, bool]) -> None:
        """State which nodes a partition has, and whether each can run a job now."""
        told = self.stated.setdefault(partition, {})
        mine = {*told.get("chosen", ()), *self._handed}
        busy = sorted(name for name, usable in nodes.items() if not (usable or name in mine))
        told.update(nodes=sorted(nodes), busy=busy)


TURNS: Final = Rota()
"""Those of this session."""


def asked_of(job: Any, partition: Any, place: Placement) -> list[str]:
    """The nodes that a case asks for by name; none where the scheduler may choose.

    Cases that an allocation holds nodes for get them there, but for those of switch groups.

    Raises:
        FabricheckError: if a placement names a switch group and no idle nodes are in one.
    """
    scheduler = scheduler_of(job.scheduler.registered_name)
    held = getattr(job.scheduler, "held_nodes", None)
    if place.layout not in GROUPS and (held or not TURNS.of_all or not scheduler.by_name):
        return []
    leaves = leaves_of(PartitionExtras.of(partition.extras).topology)
    idle = TURNS.idle(job, partition.name, scheduler.idle) if scheduler.by_name else []
    # What is held already costs nobody anything.
    chosen = TURNS.pick(held() if held else (), place, leaves) or TURNS.pick(idle, place, leaves)
    if not chosen and place.layout in GROUPS:
        raise FabricheckError(
            f"FC3301 expected {place.num_nodes} idle nodes of partition {partition.name} for "
            f"{place}, at {'one leaf switch' if place.layout == LEAF else 'a leaf switch each'}, "
            f"found {fold(idle) or 'no idle node'}: wait for others, or correct the topology"
        )
    TURNS.hand_out([] if held else chosen)
    TURNS.choose(partition.name, chosen)
    return chosen
