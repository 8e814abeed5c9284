"""What a card is plugged into: its PCIe links up to the root port, and how it reaches memory."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ClusterShell.RangeSet import RangeSet, RangeSetException

from fabricheck.nodes.told import Told

LOSS: Final = "PCIe loss"
"""The fact of a link that is slower than both its ends can be."""

_ADDRESS: Final = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_WAY: Final = "way/"
_UNKNOWN_WIDTHS: Final = (0, 255)
_EXTENDED: Final = 0x100
_PCIE, _ACS = 0x10, 0x0D
_RELAXED: Final = 1 << 4
# Request and completion redirect: traffic between cards goes through the root port.
_REDIRECT: Final = 0b1100
_MOST: Final = 64
"""Capabilities that a list has at most; more is a loop."""

Link = tuple[int, float]


class Hop(NamedTuple):
    """A device on the way up: its address, and the path that its files were told by."""

    name: str
    path: str


def read_pcie(told: Told, device: str) -> Iterator[tuple[str, str]]:
    """The facts of a card, by name; empty where it does not tell."""
    base = f"sys/class/infiniband/{device}/device"
    chain = _chain(told, device)
    pairs = list(zip(chain[::2], chain[1::2], strict=False))
    links = [_link(told, lower, "current") for lower, _ in pairs]
    yield "PCIe link", _words(links[0]) if links else ""
    yield "PCIe way", ", ".join(map(_words, links[1:])) if all(links) else ""
    lost = (_lost(told, *pair) for pair in pairs)
    yield LOSS, "; ".join(filter(None, lost))
    yield "IOMMU", told.value(f"{base}/iommu_group/type") or told.value("iommu")
    yield "NUMA node", told.value(f"{base}/numa_node").replace("-1", "")
    yield "IRQ affinity", _interrupts(told, device, told.value(f"{base}/local_cpulist"))
    if chain:
        own = _configuration(told, chain[0])
        control = _find(own, _PCIE)
        if control and len(own) >= control + 10:
            word = int.from_bytes(own[control + 8 : control + 10], "little")
            yield "MaxPayload", str(128 << (word >> 5 & 7))
            yield "MaxReadReq", str(128 << (word >> 12 & 7))
            yield "relaxed ordering", "on" if word & _RELAXED else "off"
        yield "ACS redirect", _redirect([_configuration(told, each) for each in chain[1:]])


def shared_links(told: Told) -> Iterator[str]:
    """The PCIe links that several cards share: below which bridge, and its width and speed."""
    below: dict[str, list[str]] = {}
    bridges: dict[str, Hop] = {}
    for path in told.lines:
        if path.startswith(_WAY):
            for hop in _chain(told, path.removeprefix(_WAY))[1:]:
                below.setdefault(hop.name, []).append(path.removeprefix(_WAY))
                bridges.setdefault(hop.name, hop)
    # The switch is listed before what it is plugged into, and is the one to name.
    of_cards = {tuple(cards): bridges[name] for name, cards in reversed(below.items())}
    for cards, hop in of_cards.items():
        if len(cards) > 1:
            width = _words(_link(told, hop, "current")) or "of unknown width"
            yield f"{', '.join(cards)} share the PCIe link of {hop.name} ({width})"


def _chain(told: Told, device: str) -> list[Hop]:
    # From the card up to the root port each second hop is a link: card and slot, then a switch's
    # upstream port and what that is plugged into.
    base = f"sys/class/infiniband/{device}/device"
    names = _ADDRESS.findall(told.value(f"{_WAY}{device}"))[::-1]
    return [Hop(name, f"{base}{'/..' * above}") for above, name in enumerate(names)]


def _link(told: Told, hop: Hop, which: str) -> Link | None:
    base = f"{hop.path}/{which}_link_"
    # "16.0 GT/s PCIe", before Linux 5.8 "16 GT/s", and "Unknown" or "Unknown speed".
    speed = re.match(r"[\d.]+", told.value(f"{base}speed"))
    width = told.value(f"{base}width")
    if not speed or not width.isdecimal() or int(width) in _UNKNOWN_WIDTHS:
        return None
    return int(width), float(speed[0])


def _words(link: Link | None) -> str:
    return f"x{link[0]} {link[1]:g} GT/s" if link else ""


def _lost(told: Told, lower: Hop, upper: Hop) -> str:
    now = _link(told, lower, "current")
    ends = [_link(told, each, "max") for each in (lower, upper)]
    known = [each for each in ends if each]
    if now is None or len(known) < len(ends):
        return ""
    best = min(width for width, _ in known), min(speed for _, speed in known)
    if now[0] >= best[0] and now[1] >= best[1]:
        return ""
    return f"{lower.name} has {_words(now)}, it and {upper.name} can {_words(best)}"


def _interrupts(told: Told, device: str, near: str) -> str:
    try:
        local = RangeSet(near or None)
        masks = [
            RangeSet(mask)
            for irq in told.value(f"irqs/{device}").split()
            if (mask := told.value(f"proc/irq/{irq}/smp_affinity_list"))
        ]
    except RangeSetException:
        return ""
    if not masks or not local:
        return ""
    if all(mask <= local for mask in masks):
        return "near"
    return "far" if not any(mask & local for mask in masks) else "partly far"


def _configuration(told: Told, hop: Hop) -> bytes:
    """The bytes of what ``od -Ax -tx1`` printed; ``*`` repeats the line before it."""
    found = bytearray()
    for word in told.value(f"{hop.path}/config").split():
        if len(word) > 2:  # noqa: PLR2004 - the offset of a line, to which what is before is filled
            line = bytes(found[-16:])
            while line and len(found) < int(word, 16):
                found += line
        elif word != "*":
            found.append(int(word, 16))
    return bytes(found)


def _find(space: bytes, wanted: int) -> int:
    """The offset of a capability; 0 where there is none or it can't be read."""
    at = space[0x34] if len(space) >= 0x40 else 0  # noqa: PLR2004 - the header's length
    for _ in range(_MOST):
        if not at or at + 1 >= len(space) or space[at] == wanted:
            break
        at = space[at + 1]
    return at if at and at < len(space) and space[at] == wanted else 0


def _redirect(bridges: list[bytes]) -> str:
    """Whether a bridge above the card redirects; empty where one does not show that."""
    if not bridges or any(len(space) <= _EXTENDED for space in bridges):
        return ""
    return "on" if any(_acs(space) & _REDIRECT for space in bridges) else "off"


def _acs(space: bytes) -> int:
    """The control bits of Access Control Services; none without that capability."""
    at = _EXTENDED
    for _ in range(_MOST):
        head = int.from_bytes(space[at : at + 4], "little")
        if head & 0xFFFF == _ACS:
            return int.from_bytes(space[at + 6 : at + 8], "little")
        at = head >> 20
        if at < _EXTENDED:
            break
    return 0
