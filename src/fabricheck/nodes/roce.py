"""How a RoCE port is set: what is lossless, marked and trusted, by whichever tool or file tells."""

import re
from collections.abc import Iterator
from typing import Final

from fabricheck.nodes.told import Told

_EMPTY: Final = re.compile(r"[0:]*")
_PRIORITIES: Final = range(8)


def read_roce(told: Told, place: str) -> Iterator[tuple[str, str]]:
    """The settings of a port, by name; empty where nothing tells them.

    Args:
        told: what the node told.
        place: the port's directory in sysfs.
    """
    device, number = place.split("/")[3], place.rpartition("/")[2]
    interface = told.value(f"{place}/gid_attrs/ndevs/0")
    said = "\n".join(
        line
        for tool in ("dcb", "mlnx_qos", "lldptool")
        for line in told.lines.get(f"{tool}/{interface}", ())
    )
    yield "PFC priorities", _pfc(said)
    yield "trust", _first(r"^Priority trust state: (\w+)|^order:? (\w+)", said)
    yield "DSCP entries", _first(r"^dscp-prio (.+)", said)
    yield "DSCP map", " ".join(re.findall(r"^\s*prio:(\d+ dscp:[\d,]+?),?\s*$", said, re.MULTILINE))
    yield (
        "receive buffers",
        _first(r"^buffer-size (.+)|^Receive buffer size \(bytes\): *(\S+?),?max", said),
    )
    yield "ECN priorities", _ecn(told, f"sys/class/net/{interface}/ecn")
    tos = told.value(f"sys/class/infiniband/{device}/tc/{number}/traffic_class")
    yield "traffic class", tos.rpartition("=")[2]
    place_of_cm = f"sys/kernel/config/rdma_cm/{device}/ports/{number}"
    yield "RDMA-CM ToS", told.value(f"{place_of_cm}/default_roce_tos")
    yield "RoCE v2 GIDs", _gids(told, place)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return next(filter(None, found.groups()), "").strip() if found else ""


def _listed(numbers: list[str]) -> str:
    return ",".join(numbers) or "none"


def _pfc(said: str) -> str:
    # dcb's words, then mlnx_qos' row of its table, then lldptool's list.
    if words := _first(r"prio-pfc ((?:\d:(?:on|off) ?){8})", said):
        return _listed(re.findall(r"(\d):on", words))
    if row := _first(r"^\s*enabled((?:\s+[01]){8})\s*$", said):
        return _listed([str(at) for at, on in enumerate(row.split()) if on == "1"])
    return _first(r"^enabled=([\d,]+|none)$", said)


def _ecn(told: Told, base: str) -> str:
    states = [
        (str(each), [told.value(f"{base}/roce_{end}/enable/{each}") for end in ("np", "rp")])
        for each in _PRIORITIES
    ]
    if not any(value for _, both in states for value in both):
        return ""
    return _listed([each for each, both in states if both == ["1", "1"]])


def _gids(told: Told, place: str) -> str:
    pattern = re.compile(rf"{re.escape(place)}/gid_attrs/types/(\d+)")
    kinds = {match[1]: kind for match, kind in told.matching(pattern)}
    filled = [
        index
        for index, kind in kinds.items()
        if kind == "RoCE v2" and not _EMPTY.fullmatch(told.value(f"{place}/gids/{index}"))
    ]
    return _listed(sorted(filled, key=int)) if kinds else ""
