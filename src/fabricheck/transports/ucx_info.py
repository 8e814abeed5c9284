"""What UCX can do on a node, in its own words: a spec that asks for InfiniBand is only a claim.

``ucx_info -d`` lists the transports that UCX found devices for, in pairs of lines (UCX 1.13)::

    #      Transport: rc_verbs
    #         Device: mlx5_0:1
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from fabricheck.transports.table import Transport

_LINE = re.compile(r"^#\s+(Transport|Device): (\S+)", re.MULTILINE)


def read_devices(listing: str) -> Mapping[str, list[str]]:
    """The devices of each transport that ``ucx_info -d`` lists."""
    devices: dict[str, list[str]] = defaultdict(list)
    transport = ""
    for what, name in _LINE.findall(listing):
        if what == "Transport":
            transport = name
        else:
            devices[transport].append(name)
    return dict(devices)


def objection(transport: Transport, listing: str) -> str:
    """Why this UCX can't carry a transport; empty if it can.

    Args:
        transport: one that is on UCX.
        listing: what ``ucx_info -d`` printed on a node of the job.
    """
    devices = read_devices(listing)
    if not devices:
        return (
            "expected the list of UCX's transports from ucx_info -d, found none: "
            "the UCX of this MPI did not start on the node"
        )
    wanted = transport.wanted
    if not wanted or wanted & devices.keys():
        return ""
    return (
        f"expected a UCX with {' or '.join(sorted(wanted))} on the node, found only "
        f"{', '.join(sorted(devices))}: it was built without that transport, or the node has no "
        "such device (docs/how-to/spack.md)"
    )
