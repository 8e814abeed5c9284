"""The placements that a check has cases for."""

import re

from fabricheck.sites.offers import offers
from fabricheck.transports import Placement, placements

_NODES = re.compile(r"nodes-(?P<count>[1-9]\d*)", re.ASCII)


def offered(least: int = 1, most: int | None = None, *, full: bool = False) -> list[str]:
    """Every placement of MPI that a partition of some site offers.

    What a site writes down as features is the whole choice: transports, node counts (``nodes-N``)
    and ``full_nodes``. A case that no site could run is not made, except for one where there would
    be none at all: a check must have a case.

    Args:
        least: the fewest nodes.
        most: the most nodes; ``None`` for as many as a partition has.
        full: those with a rank on every core, not on one core of each node.

    Raises:
        FabricheckError: for a site file with anything wrong.
    """
    counts = {
        int(match["count"])
        for features in offers()
        for match in map(_NODES.fullmatch, features)
        if match
    }
    wanted = sorted(count for count in counts if least <= count <= (most or count))
    possible = placements(wanted or [max(least, 2)], full=full)
    found = [
        name
        for name in possible
        if any(set(Placement.read(name).features) <= features for features in offers())
    ]
    return found or possible[:1]
