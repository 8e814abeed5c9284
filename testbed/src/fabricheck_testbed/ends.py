"""Where a fault sits: the interfaces that send what it disturbs."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from fabricheck_testbed import fabric, layout
from fabricheck_testbed.enter import live_node
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.fabric import Cable
from fabricheck_testbed.guest.devices import cable as guest_cable
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import load

ALL: Final = "fabric"
_BETWEEN: Final = re.compile(r"([a-z]+[0-9]+)(-to)?-([a-z]+[0-9]+)")


class End(NamedTuple):
    """An interface, and the host in which it is.

    ``rate`` is what it carries without a fault, empty without a limit. ``to`` is the address of the
    one host that a fault of a pair disturbs, else empty.
    """

    host: str
    interface: str
    rate: str = ""
    to: str = ""


def ends(files: Layout, target: str) -> list[End]:
    """The interfaces that a target names; those of a cable follow each other, the node's own last.

    A target is a node, or in a fabric of leaves and spines: a host (all its cables), ``A-B`` (the
    cable between them, or what two nodes send each other), ``A-to-B`` (what A sends there) or
    ``fabric`` (all cables).

    Raises:
        TestbedError: the target names nothing of this testbed.
    """
    live_node(files, layout.SWITCH)
    started = load(files)
    cables = fabric.cables(started.fabric, started.nodes) if started else []
    if started and cables:
        return of_fabric(target, started.nodes, cables)
    node, _, card = target.partition(":")
    live_node(files, node)
    if node in layout.GUEST_NODES:
        cards = started.cards if started else 1
        if card and not (card.isdecimal() and int(card) < cards):
            raise TestbedError(f"expected a card 0 to {cards - 1} of {node}, found {card!r}")
        return [End(node, guest_cable(node, int(card or 0)))]
    return [End(layout.SWITCH, layout.switch_port(target)), End(target, layout.INTERFACE)]


def of_fabric(target: str, nodes: int, cables: Sequence[Cable]) -> list[End]:
    """The interfaces that a target names in a fabric of leaves and spines; raises as ``ends``."""
    between = _BETWEEN.fullmatch(target)
    if between is None:
        meant = [each for each in cables if target in (ALL, each.leaf, each.other)]
        found = [end for each in meant for end in _both(each)]
    else:
        one, direction, other = between.groups()
        pair = {one, other}
        found = [end for each in cables if {each.leaf, each.other} == pair for end in _both(each)]
        if len(pair) > 1 and pair <= set(layout.node_names(nodes)):
            found = [_for_pair(one, other), _for_pair(other, one)]
        if direction:
            found = [end for end in found if end.host == one]
    if not found:
        raise TestbedError(
            f"expected a node, a leaf or a spine of this testbed (n1, leaf1, spine1), a cable or "
            f"a pair of nodes (leaf1-spine2, n1-n5), one direction (leaf1-to-spine2) or {ALL}, "
            f"found {target!r}"
        )
    return found


def _both(cable: Cable) -> list[End]:
    return [End(host, interface, cable.rate) for host, interface in cable.ends()]


def _for_pair(sender: str, receiver: str) -> End:
    return End(sender, layout.INTERFACE, fabric.NODE_RATE, fabric.address(receiver))
