"""How programs on verbs are told which port and address to use, from a partition's extras."""

from collections.abc import Mapping
from typing import Any


def ports(extras: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Device and port number of each RDMA port of a node, the first of them first.

    One pair of empty strings where each node has its own.
    """
    named = extras.get("ucx_net_devices", {}).get("rdma", "")
    return [(device, number) for device, _, number in (p.partition(":") for p in named.split(","))]


def mtu(extras: Mapping[str, Any]) -> int | None:
    """Payload of a packet in bytes, ``None`` where the site doesn't say."""
    found: int | None = extras.get("fabric_health", {}).get("mtu")
    return found


def perftest_options(extras: Mapping[str, Any], connection: str) -> list[str]:
    """Options of perftest: the first port, over this connection (``RC``, ``UC``, ``UD``)."""
    options = ["-F", "-c", connection]
    if "gid_index" in extras:
        options += ["-x", str(extras["gid_index"])]
    if size := mtu(extras):
        options += ["-m", str(size)]
    device, number = ports(extras)[0]
    options += ["-d", device] if device else []
    options += ["-i", number] if number else []
    return options


def rdma_batch_options(extras: Mapping[str, Any], devices: int) -> list[str]:
    """Options of rdma_batch: so many ports of each node, or as many as the site names."""
    options = []
    if "gid_index" in extras:
        options += ["--gid-index", str(extras["gid_index"])]
    if size := mtu(extras):
        options += ["--mtu", str(size)]
    named = [":".join(filter(None, port)) for port in ports(extras)][:devices]
    if named != [""]:
        options += ["--dev", ",".join(named)]
    count = str(len(named))
    return [*options, "--num-initiator-dev", count, "--num-target-dev", count]
