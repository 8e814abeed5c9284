"""The facts of a node's RDMA cards and ports, each by its name; what is not told has no entry."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from fabricheck.nodes.optics import read_optics
from fabricheck.nodes.pcie import read_pcie
from fabricheck.nodes.roce import read_roce
from fabricheck.nodes.told import Told

Cards = Mapping[str, Mapping[str, str]]
"""Facts by card (``mlx5_0``), by port (``mlx5_0:1``) and, below the empty name, of the node."""

_PORT: Final = re.compile(r"(sys/class/infiniband/([^/]+))/ports/(\d+)/state")
_RATE: Final = re.compile(r"[\d.]+ Gb/sec")
_ACTIVE: Final = "ACTIVE"


def read_cards(told: Told) -> dict[str, dict[str, str]]:
    """The facts of every card and port."""
    found: dict[str, dict[str, str]] = {}
    ports = 0
    for match, state in told.matching(_PORT):
        base, device, number = match.groups()
        if device not in found:
            found[device] = _named(_card(told, base))
        ports += 1
        found[f"{device}:{number}"] = _named(_port(told, f"{base}/ports/{number}", state))
    return {"": {"RDMA ports": str(ports)}, **found}


def board(cards: Cards, subject: str) -> tuple[str, ...]:
    """What cards and ports have in common that should be alike; empty for the node itself."""
    card = cards.get(subject.partition(":")[0], {}) if subject else {}
    return tuple(card.get(each, "") for each in ("board", "PCI ID", "driver")) if card else ()


def _named(facts: Iterator[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in facts if value}


def _card(told: Told, base: str) -> Iterator[tuple[str, str]]:
    event = dict(each.partition("=")[::2] for each in told.lines.get(f"{base}/device/uevent", ()))
    # Soft-RoCE names the interface below it, and has no device or shows the interface's.
    is_software = f"{base}/parent" in told.lines
    driver = "rdma_rxe" if is_software else event.get("DRIVER", "")
    yield "board", told.value(f"{base}/board_id")
    yield "firmware", told.value(f"{base}/fw_ver")
    yield "driver", f"{driver} {told.value(f'sys/module/{driver}/version')}".strip()
    if not is_software:
        yield "PCI ID", event.get("PCI_ID", "")
        yield "PCI address", event.get("PCI_SLOT_NAME", "")
        device = base.rpartition("/")[2]
        yield from read_pcie(told, device)
        states = (state for match, state in told.matching(_PORT) if match[1] == base)
        has_link = any(state.endswith(_ACTIVE) for state in states)
        yield from read_optics(told, device, has_link=has_link)


def _port(told: Told, place: str, state: str) -> Iterator[tuple[str, str]]:
    # The kernel writes a state as "4: ACTIVE".
    name = state.rpartition(" ")[2]
    yield "state", name
    yield "link layer", (layer := told.value(f"{place}/link_layer"))
    if layer == "Ethernet":
        interface = told.value(f"{place}/gid_attrs/ndevs/0")
        yield "MTU", told.value(f"sys/class/net/{interface}/mtu")
        yield from read_roce(told, place)
    # The rate of a port without a link is none.
    rate = _RATE.match(told.value(f"{place}/rate"))
    yield "rate", rate[0] if rate and name == _ACTIVE else ""
