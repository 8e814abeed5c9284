"""How programs on verbs are told which port and address to use, from a partition's extras."""

from collections.abc import Mapping

from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.rails import GIVEN


def ports(extras: PartitionExtras) -> tuple[tuple[str, str], ...]:
    """Device and port number of each RDMA port of a node, the first of them first.

    One pair of empty strings where each node has its own; words for ``rank.sh`` where each finds
    those that the site means.
    """
    numbers = range(1, len(extras.ports) + 1)
    found = tuple((f"{GIVEN}device{n}{GIVEN}", f"{GIVEN}port{n}{GIVEN}") for n in numbers)
    return extras.given_ports.named("rdma") or found or (("", ""),)


def wrong_mtu(extras: PartitionExtras, used: int) -> str:
    """What is wrong with the path MTU that a connection used, in bytes; empty if nothing is."""
    asked = extras.fabric_health.mtu
    if used and asked in (None, used):
        return ""
    return (
        f"expected a path MTU of {asked or 'any number of'} B, found {used} B: a port of the other "
        "node has a smaller one, so the figures belong to another path"
    )


def address(extras: PartitionExtras, gid: str, size: str, level: str) -> list[str]:
    """GID index, MTU and service level under a program's names for them, and the traffic class."""
    return flat(
        {
            gid: extras.gid_index,
            size: extras.fabric_health.mtu,
            level: extras.service_level,
            "--tclass": extras.traffic_class,
        }
    )


def flat(given: Mapping[str, object]) -> list[str]:
    """Options with their values, but for those without a value."""
    return [
        word for name, value in given.items() if value is not None for word in (name, str(value))
    ]
