"""Ports of nodes that have several: how a site names one, so that each node finds its own."""

import re
from ipaddress import IPv4Network, ip_network
from typing import Final

from fabricheck.errors import FabricheckError

GID: Final = "gid="
GIVEN: Final = "@"
"""Ends words such as ``@device1@`` and ``@port1@``, which ``rank.sh`` replaces on each node."""
MOST_RAILS: Final = 4
"""Ports over which UCX is asked to spread one large message (UCX_MAX_RNDV_RAILS, by itself 2)."""

_V4_MAPPED: Final = "0" * 20 + "f" * 4
"""Of a RoCE address the digits before those of IPv4 (RFC 4291, 2.5.5.2)."""


def feature(port: str) -> str:
    """What a partition offers that has this port, as ReFrame can spell it."""
    return f"port_{re.sub(r'[^A-Za-z0-9]', '_', port)}"


def sought(port: str) -> str:
    """A port as ``rank.sh`` looks for it: the subnet of a GID is the shell's pattern of its text.

    Raises:
        FabricheckError: if the subnet is none, or ends inside of a hexadecimal digit.
    """
    if not port.startswith(GID):
        return port
    try:
        network = ip_network(port.removeprefix(GID))
    except ValueError as error:
        raise FabricheckError(
            f"FC3101 expected the subnet of a GID, such as gid=fd00:3::/64, found {port!r} "
            f"({error}): correct extras.ports in the site file"
        ) from None
    if network.prefixlen % 4:
        raise FabricheckError(
            f"FC3102 expected a subnet of a multiple of 4 bits, found {port!r}: write one for each "
            "subnet below it"
        )
    digits = f"{int(network.network_address):0{network.max_prefixlen // 4}x}"
    digits = digits[: network.prefixlen // 4]
    if isinstance(network, IPv4Network):
        digits = _V4_MAPPED + digits
    return GID + ":".join(re.findall(".{1,4}", digits)) + "*"
