"""Faults to inject into a running testbed: cables pulled, links shaped, packets lost.

A host node has a link to the switch. A guest node has the cable below its RDMA device; what is done
to a cable is done to what the node sends, so hit both nodes to hit both directions.
"""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from fabricheck.errors import FabricheckError
from fabricheck.testbed import layout
from fabricheck.testbed.commands import run_captured
from fabricheck.testbed.enter import live_node
from fabricheck.testbed.guest.devices import CABLE_MTU, cable, gid_address
from fabricheck.testbed.layout import Layout

NETEM_WORDS: Final = ("loss", "delay", "reorder", "duplicate", "corrupt", "rate", "limit")
_QUEUES: Final = ("netem", "tbf", "red")
_QUEUE: Final = re.compile(r"qdisc (\w+) \S+ (?:root refcnt \d+|parent \S+) *(.*)")
# Marks begin at 40 kB of queue, ten packets of the cable's MTU, and are certain from 120 kB on.
# What says that it can't be marked is dropped instead.
_RED: Final = "red limit 2mb min 40kb max 120kb avpkt 4200 burst 15 ecn probability 0.2 bandwidth"
_USUAL_MTU: Final = 1500
_SECONDS: Final = 60.0


class _End(NamedTuple):
    """An interface, and the host in which it is."""

    host: str
    interface: str


def _ends(node: str) -> list[_End]:
    """The interfaces that make up the node's link; the node's own comes last."""
    if node in layout.GUEST_NODES:
        return [_End(node, cable(node))]
    return [_End(layout.SWITCH, layout.switch_port(node)), _End(node, layout.INTERFACE)]


def inject(files: Layout, node: str, words: Sequence[str]) -> None:
    """Do what the command line says: netem's words, ``red 20mbit``, ``link down``, ``clear``, …

    Raises:
        FabricheckError: the words mean no fault, or this node cannot have it.
    """
    live_node(files, node)
    first, rest = words[0], list(words[1:])
    if first == "clear" and not rest:
        clear(files, node)
    elif first == "link" and rest in (["down"], ["up"]):
        set_link(files, node, rest[0])
    elif first == "mtu" and len(rest) == 1 and rest[0].isdecimal():
        set_mtu(files, node, int(rest[0]))
    elif first == "rate" and node not in layout.GUEST_NODES:
        shape(files, node, " ".join(words))
    elif first == "red" and len(rest) == 1:
        red(files, node, rest[0])
    elif first in NETEM_WORDS:
        netem(files, node, " ".join(words))
    else:
        raise FabricheckError(
            f"expected a fault ({', '.join(NETEM_WORDS)} ..., red RATE, link down, link up, "
            f"mtu NUMBER, clear, list), found {' '.join(words)!r}"
        )


def netem(files: Layout, node: str, arguments: str) -> None:
    """Let a guest node's cable lose, delay, reorder or mark packets, as tc-netem(8) words it."""
    _only_in_guest(node, "netem")
    _queue(files, node, f"root netem {shlex.join(arguments.split())}")


def red(files: Layout, node: str, rate: str) -> None:
    """Let a guest node's cable be slow, and mark packets as congested when they queue up.

    It does what a switch with ECN does (random early detection, tc-red(8)): nothing on an idle
    link, and marks as soon as more is sent than goes through.
    """
    _only_in_guest(node, "red")
    speed = shlex.quote(rate)
    _queue(
        files,
        node,
        f"root handle 1: tbf rate {speed} burst 64kb limit 4mb",
        f"parent 1:1 handle 10: {_RED} {speed}",
    )


def _only_in_guest(node: str, what: str) -> None:
    if node not in layout.GUEST_NODES:
        raise FabricheckError(
            f"{what} is for the guest's nodes ({', '.join(layout.GUEST_NODES)}): {node} runs on "
            "this machine's kernel, which may lack it; use rate, link down or mtu there"
        )


def shape(files: Layout, node: str, token_bucket: str) -> None:
    """Limit the node's link, on a host node in both directions, as tc-tbf(8) words it."""
    _queue(files, node, f"root tbf {shlex.join(token_bucket.split())}")


def _queue(files: Layout, node: str, *disciplines: str) -> None:
    for end in _ends(node):
        add = [f"tc qdisc add dev {end.interface} {each}" for each in disciplines]
        # Replacing netem by netem would keep some of the old one's arguments.
        _run(files, end, _without_queue(end), *add)


def clear_queue(files: Layout, node: str) -> None:
    """Undo ``netem``, ``red`` and ``shape``; without any, do nothing."""
    for end in _ends(node):
        _run(files, end, _without_queue(end))


def _without_queue(end: _End) -> str:
    kinds = "|".join(_QUEUES)
    return (
        f"if tc qdisc show dev {end.interface} root | grep -Eq '^qdisc ({kinds}) '; "
        f"then tc qdisc del dev {end.interface} root; fi"
    )


def set_link(files: Layout, node: str, state: str) -> None:
    """Pull the node's cable (``down``), or plug it in again (``up``)."""
    end = _ends(node)[0]
    _run(
        files,
        end,
        *(_link_up(node, end) if state == "up" else [f"ip link set {end.interface} down"]),
    )


def _link_up(node: str, end: _End) -> list[str]:
    commands = [f"ip link set {end.interface} up"]
    if node in layout.GUEST_NODES:
        # The kernel forgets link-local addresses when a link goes down.
        commands.append(f"ip address replace {gid_address(node)} dev {end.interface} nodad")
    return commands


def set_mtu(files: Layout, node: str, mtu: int) -> None:
    """Change the MTU of the node's own interface."""
    end = _ends(node)[-1]
    _run(files, end, f"ip link set {end.interface} mtu {mtu}")


def clear(files: Layout, node: str) -> None:
    """Undo every fault of the node."""
    for end in _ends(node):
        mtu = f"ip link set {end.interface} mtu {_usual_mtu(node)}"
        _run(files, end, _without_queue(end), mtu, *_link_up(node, end))


def active(files: Layout, node: str) -> list[str]:
    """The faults that the node has now, in words."""
    live_node(files, node)
    found = []
    for end in _ends(node):
        where = f"{end.interface} in {end.host}"
        show = f"tc qdisc show dev {end.interface}"
        link, *queues = _run(files, end, f"ip -json link show {end.interface}", show).splitlines()
        # "qdisc netem 8001: root refcnt 2 limit 1000 loss 2%"
        disciplines = [match.groups() for match in map(_QUEUE.match, queues) if match]
        found += [f"{where}: {k} {told.strip()}" for k, told in disciplines if k in _QUEUES]
        (state,) = json.loads(link)
        if "UP" not in state["flags"]:
            found.append(f"{where}: down")
        if state["mtu"] != _usual_mtu(node):
            found.append(f"{where}: MTU {state['mtu']}")
    return found


def _usual_mtu(node: str) -> int:
    return CABLE_MTU if node in layout.GUEST_NODES else _USUAL_MTU


def _run(files: Layout, end: _End, *commands: str) -> str:
    """Run shell commands one after the other, until one fails; their output."""
    # Ordinary users have no /sbin in their PATH, where tc and ip are.
    script = "; ".join(["set -e", "PATH=$PATH:/usr/sbin:/sbin", *commands])
    done = run_captured(files, end.host, ["sh", "-c", script], _SECONDS)
    if done.returncode != 0:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise FabricheckError(f"{commands[-1]} in {end.host}: {complaint}")
    return done.stdout
