"""Faults to inject into a running testbed: cables pulled, links shaped, packets lost.

A host node has a link to the switch or to its leaf. A guest node has the cable below its RDMA
device; what is done to a cable is done to what the node sends, so hit both nodes to hit both
directions. ``ends`` says what else can be hit.

The machine's own kernel may lack netem. There a packet is lost by a filter that draws a random
number (cls_bpf), and delayed by a token bucket in which each packet counts as a large one
(tc-tbf(8), ``mpu``): one packet passes in each ``delay``. So in a train of small messages each
takes that much longer, a lone message doesn't, and no more than one packet in each ``delay`` comes
through of large ones either.
"""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Final

from fabricheck_testbed import fabric, layout
from fabricheck_testbed.commands import run_captured
from fabricheck_testbed.ends import End, ends
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest.devices import CABLE_MTU, device, gid_address
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import load

NETEM_WORDS: Final = ("loss", "delay", "reorder", "duplicate", "corrupt", "rate", "limit")
_QUEUES: Final = ("netem", "tbf", "red", "htb")
_QUEUE: Final = re.compile(r"qdisc (\w+) (\S+) (?:root refcnt \d+|parent \S+) *(.*)")
_SEED: Final = re.compile(r" seed \d+")  # from iproute2 6.6 on, another one each time
# Marks begin at 40 kB of queue, ten packets of the cable's MTU, and are certain from 120 kB on.
# What says that it can't be marked is dropped instead.
_RED: Final = "red limit 2mb min 40kb max 120kb avpkt 4200 burst 15 ecn probability 0.2 bandwidth"
_BUCKET: Final = "burst 64kb latency 100ms"
# The bytes that a delayed packet counts for: as many as the kernel can count (16 bits), nearly.
_COUNTED: Final = 60000
_DELAYS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_DELAY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s)")
_LOSS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")
# Of classic BPF: load a random number of 32 bits; if it is not below the third number, pass, else
# drop. (The fourth one before them: only if the address at 30, the receiver's, is the pair's.)
_DROP: Final = "32 0 0 4294963256,53 0 1 {below},6 0 0 4294967295,6 0 0 2"
_ONLY_TO: Final = "32 0 0 30,21 0 2 {address},"
_DROPPED: Final = re.compile(r"53 0 1 (\d+)")
_USUAL_MTU: Final = 1500
_SECONDS: Final = 60.0


def inject(files: Layout, target: str, words: Sequence[str]) -> None:
    """Do what the command line says: netem's words, ``red 20mbit``, ``link down``, ``clear``, …

    Raises:
        TestbedError: the words mean no fault, or this target cannot have it.
    """
    where = ends(files, target)
    in_guest = _is_in_guest(target)
    first, rest = words[0], list(words[1:])
    if first == "clear" and not rest:
        clear(files, target)
    elif first == "link" and rest in (["down"], ["up"]):
        set_link(files, target, rest[0])
    elif first == "mtu" and len(rest) == 1 and rest[0].isdecimal():
        set_mtu(files, target, int(rest[0]))
    elif first == "rename" and len(rest) == 1 and in_guest:
        rename(files, target, rest[0])
    elif first == "rate" and not in_guest:
        shape(files, target, " ".join(words if len(words) > 2 else [*words, _BUCKET]))  # noqa: PLR2004
    elif first == "loss" and len(rest) == 1 and not in_guest:
        _lose(files, where, rest[0])
    elif first == "delay" and len(rest) == 1 and not in_guest:
        _delay(files, target, rest[0])
    elif first == "red" and len(rest) == 1:
        red(files, target, rest[0])
    elif first in NETEM_WORDS:
        netem(files, target, " ".join(words))
    else:
        raise TestbedError(
            f"expected a fault ({', '.join(NETEM_WORDS)} ..., red RATE, link down, link up, "
            f"mtu NUMBER, rename NAME, clear, list), found {' '.join(words)!r}"
        )


def netem(files: Layout, node: str, arguments: str) -> None:
    """Let a guest node's cable lose, delay, reorder or mark packets, as tc-netem(8) words it."""
    _only_in_guest(node, f"netem ({arguments})")
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
    if not _is_in_guest(node):
        raise TestbedError(
            f"{what} is for the guest's nodes, such as rx1: {node} runs on "
            "this machine's kernel, which may lack it; use rate, delay TIME, loss N%, link down or "
            "mtu there"
        )


def shape(files: Layout, target: str, token_bucket: str) -> None:
    """Limit links, on host nodes in both directions, as tc-tbf(8) words it."""
    _queue(files, target, f"root tbf {shlex.join(token_bucket.split())}")


def _delay(files: Layout, target: str, time: str) -> None:
    """Let one packet pass in each ``time``."""
    found = _DELAY.fullmatch(time)
    seconds = float(found[1]) * _DELAYS[found[2]] if found else 0.0
    if not seconds:
        raise TestbedError(f"expected a delay such as 500us or 2ms, found {time!r}")
    rate = round(_COUNTED * 8 / seconds)
    size = f"mpu {_COUNTED}"
    shape(files, target, f"rate {rate}bit burst {_COUNTED + 4096} latency 100ms {size}")


def _lose(files: Layout, where: Sequence[End], share: str) -> None:
    """Lose packets at random; what the kernel hands on as one packet is lost as one."""
    found = _LOSS.fullmatch(share)
    if not found or not 0 < float(found[1]) <= 100:  # noqa: PLR2004
        raise TestbedError(f"expected a loss from 0% to 100%, such as 2%, found {share!r}")
    drop = _DROP.format(below=min(round(float(found[1]) / 100 * 2**32), 2**32 - 1))
    for end in where:
        only = _ONLY_TO.format(address=_as_number(end.to)) if end.to else ""
        code = only + drop
        _run(
            files,
            end,
            _without_filter(end),
            f"tc qdisc add dev {end.interface} clsact",
            f"tc filter add dev {end.interface} egress bpf direct-action bytecode "
            f"'{code.count(',') + 1},{code}'",
        )


def _as_number(address: str) -> int:
    return int.from_bytes(bytes(map(int, address.split("."))))


def _queue(files: Layout, target: str, *disciplines: str) -> None:
    for end in ends(files, target):
        add = [f"tc qdisc add dev {end.interface} {each}" for each in disciplines]
        if end.to:
            add = _queue_for_pair(end, disciplines[0])
        # Replacing netem by netem would keep some of the old one's arguments.
        _run(files, end, _without_queue(end), *add)


def _queue_for_pair(end: End, discipline: str) -> list[str]:
    """The usual rate for all, and the discipline for what goes to one address (tc-htb(8))."""
    own = discipline.replace("root", "parent 1:2 handle 2:", 1)
    device = f"dev {end.interface}"
    return [
        f"tc qdisc add {device} root handle 1: htb default 1",
        f"tc class add {device} parent 1: classid 1:1 htb rate {end.rate} burst 16kb",
        f"tc class add {device} parent 1: classid 1:2 htb rate {end.rate} burst 16kb",
        f"tc filter add {device} parent 1: protocol ip u32 match ip dst {end.to} flowid 1:2",
        f"tc qdisc add {device} {own}",
    ]


def clear_queue(files: Layout, target: str) -> None:
    """Undo ``netem``, ``red``, ``shape``, loss and delay; without any, do nothing."""
    for end in ends(files, target):
        _run(files, end, *_usual(end))


def _usual(end: End) -> list[str]:
    commands = [_without_filter(end), _without_queue(end)]
    if end.rate:
        commands.append(f"tc qdisc add dev {end.interface} {fabric.usual_queue(end.rate)}")
    return commands


def _without_queue(end: End) -> str:
    kinds = "|".join(_QUEUES)
    return (
        f"if tc qdisc show dev {end.interface} root | grep -Eq '^qdisc ({kinds}) '; "
        f"then tc qdisc del dev {end.interface} root; fi"
    )


def _without_filter(end: End) -> str:
    return (
        f"if tc qdisc show dev {end.interface} | grep -q '^qdisc clsact '; "
        f"then tc qdisc del dev {end.interface} clsact; fi"
    )


def set_link(files: Layout, target: str, state: str) -> None:
    """Pull a cable (``down``), or plug it in again (``up``)."""
    # One end of each cable.
    cables = _of_cables(files, target)[::2]
    for end in cables:
        _run(files, end, f"ip link set {end.interface} {state}")
    if state == "up":
        _restore(files, cables)


def _of_cables(files: Layout, target: str) -> list[End]:
    found = ends(files, target)
    if found[0].to or (found[0].rate and len(found) == 1):
        raise TestbedError(
            f"{target} is a pair of nodes or one direction, no cable: use rate, delay or loss there"
        )
    return found


def _restore(files: Layout, where: Sequence[End]) -> None:
    """Give back what the kernel forgets when a link goes down: addresses, and next hops."""
    started = load(files)
    for end in where:
        if end.host in layout.GUEST_NODES:
            address = gid_address(end.interface)
            _run(files, end, f"ip address replace {address} dev {end.interface} nodad")
        if fabric.is_router(end.host):
            carrier = (
                f"until ip -br link show {end.interface} | grep -q ' UP '; do sleep 0.02; done"
            )
            _run(files, end, f'timeout 5 sh -c "{carrier}"')
    for host, end in {end.host: end for end in where if fabric.is_router(end.host)}.items():
        routes = fabric.setup(host, started.fabric, started.nodes) if started else ()
        _run(files, end, *(f"ip {route}" for route in routes))


def set_mtu(files: Layout, target: str, mtu: int) -> None:
    """Change the MTU of the node's own interface."""
    end = _of_cables(files, target)[-1]
    _run(files, end, f"ip link set {end.interface} mtu {mtu}")


def rename(files: Layout, target: str, name: str) -> None:
    """Give the RDMA device of a card another name, as a driver or udev may."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise TestbedError(f"expected a name such as other0, found {name!r}")
    (end,) = ends(files, target)
    # The node's view of the devices is a copy (guest/devices.py, show_only).
    _run(
        files,
        end,
        "cd /sys/class/infiniband",
        f"for old in *; do if grep -qx {end.interface} $old/parent; then break; fi; done",
        f"if [ $old != {name} ]; then rdma dev set $old name {name}",
        f"ln -s /sys/devices/virtual/infiniband/{name} {name}",
        "rm $old",
        "fi",
    )


def clear(files: Layout, target: str) -> None:
    """Undo every fault of the target's interfaces."""
    where = ends(files, target)
    if _is_in_guest(target):
        card = int(target.partition(":")[2] or 0)
        rename(files, target, device(where[0].host, card))
    for end in where:
        link = f"ip link set {end.interface} up mtu {_usual_mtu(target)}"
        _run(files, end, *_usual(end), link)
    _restore(files, where)


def active(files: Layout, target: str) -> list[str]:
    """The faults that the target has now, in words."""
    return [line for end in ends(files, target) for line in _active(files, end, target)]


def _active(files: Layout, end: End, target: str) -> list[str]:
    where = f"{end.interface} in {end.host}"
    device = f"dev {end.interface}"
    link, *rest = _run(
        files,
        end,
        f"ip -json link show {end.interface}",
        f"tc qdisc show {device}",
        f"tc filter show {device} egress",
    ).splitlines()
    # "qdisc netem 8001: root refcnt 2 limit 1000 loss 2%"
    queues = [match.groups() for match in map(_QUEUE.match, rest) if match]
    found = [
        f"{where}: {kind} {_SEED.sub('', told).strip()}"
        for kind, handle, told in queues
        if kind in _QUEUES and handle != f"{fabric.USUAL_HANDLE}:"
    ]
    drops = [match for match in map(_DROPPED.search, rest) if match]
    found += [f"{where}: loss {100 * int(match[1]) / 2**32:.3g}%" for match in drops]
    (state,) = json.loads(link)
    if "UP" not in state["flags"]:
        found.append(f"{where}: down")
    if state["mtu"] != _usual_mtu(target):
        found.append(f"{where}: MTU {state['mtu']}")
    return found


def _usual_mtu(target: str) -> int:
    return CABLE_MTU if _is_in_guest(target) else _USUAL_MTU


def _is_in_guest(target: str) -> bool:
    return target.partition(":")[0] in layout.GUEST_NODES


def _run(files: Layout, end: End, *commands: str) -> str:
    """Run shell commands one after the other, until one fails; their output."""
    # Ordinary users have no /sbin in their PATH, where tc and ip are.
    script = "; ".join(["set -e", "PATH=$PATH:/usr/sbin:/sbin", *commands])
    done = run_captured(files, end.host, ["sh", "-c", script], _SECONDS)
    if done.returncode != 0:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise TestbedError(f"{commands[-1]} in {end.host}: {complaint}")
    return done.stdout
