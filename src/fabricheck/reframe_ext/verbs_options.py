"""How programs on verbs are told which port and address to use, from a partition's extras."""

from collections.abc import Mapping
from typing import Any

from fabricheck.transports.settings import Ports

_PATIENCE = 60
"""Seconds that one end of rdma_batch waits for the other, on a busy machine."""


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


def perftest_options(extras: Mapping[str, Any], connection: str) -> list[str]:
    """Options of perftest: the first port, over this connection (``RC``, ``UC``, ``UD``)."""
    device, number = ports(extras)[0]
    given = {"-d": device or None, "-i": number or None}
    return ["-F", "-c", connection, *_address(extras, "-x", "-m", "-S"), *_flat(given)]


def rdma_batch_options(extras: Mapping[str, Any], devices: int) -> list[str]:
    """Options of rdma_batch: so many ports of each node, or as many as the site names."""
    named = [":".join(filter(None, port)) for port in ports(extras)][:devices]
    given = {
        "--dev": ",".join(named) or None,
        "--num-initiator-dev": len(named),
        "--num-target-dev": len(named),
        "--wait": _PATIENCE,
    }
    return [*_address(extras, "--gid-index", "--mtu", "--sl"), *_flat(given)]


def rdma_stream_options(extras: Mapping[str, Any], method: str) -> list[str]:
    """Options of rdma_stream: the first RDMA port, or for datagrams the network interface."""
    if method == "udp":
        named = Ports.read(extras).devices.get("tcp")
        return _flat({"--dev": named})
    if method == "mpi":
        return []
    device, number = ports(extras)[0]
    given = {"--dev": device or None, "--port": number or None}
    return [*_address(extras, "--gid-index", "--mtu", "--sl"), *_flat(given)]


def _address(extras: Mapping[str, Any], gid: str, size: str, level: str) -> list[str]:
    """GID index, MTU and service level under a program's names for them."""
    site = Ports.read(extras)
    return _flat({gid: site.gid_index, size: mtu(extras), level: site.service_level})


def _flat(given: Mapping[str, object]) -> list[str]:
    return [
        word for name, value in given.items() if value is not None for word in (name, str(value))
    ]
