"""How programs on verbs are told which port and address to use, from a partition's extras."""

from collections.abc import Mapping
from typing import Any

from fabricheck.transports.settings import Ports


def ports(extras: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Device and port number of each RDMA port of a node, the first of them first.

    One pair of empty strings where each node has its own.
    """
    return Ports.read(extras).named("rdma") or (("", ""),)


def mtu(extras: Mapping[str, Any]) -> int | None:
    """Payload of a packet in bytes, ``None`` where the site doesn't say."""
    found: int | None = extras.get("fabric_health", {}).get("mtu")
    return found


def wrong_mtu(extras: Mapping[str, Any], used: int) -> str:
    """What is wrong with the path MTU that a connection used, in bytes; empty if nothing is."""
    asked = mtu(extras)
    if used and asked in (None, used):
        return ""
    return (
        f"expected a path MTU of {asked or 'any number of'} B, found {used} B: a port of the other "
        "node has a smaller one, so the figures belong to another path"
    )


def address(extras: Mapping[str, Any], gid: str, size: str, level: str) -> list[str]:
    """GID index, MTU and service level under a program's names for them."""
    site = Ports.read(extras)
    return flat({gid: site.gid_index, size: mtu(extras), level: site.service_level})


def flat(given: Mapping[str, object]) -> list[str]:
    """Options with their values, but for those without a value."""
    return [
        word for name, value in given.items() if value is not None for word in (name, str(value))
    ]
