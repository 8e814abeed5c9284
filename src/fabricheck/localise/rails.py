"""Ports beside their peers: those of a node, and the ways between two nodes over each of them.

No reference is needed for that, and two nodes are enough.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Final

from fabricheck.units import times

if TYPE_CHECKING:
    from fabricheck.localise.located import Located

FEWEST: Final = 3
"""Ports that there must be, as of two nobody can tell which is slow."""
SLOWER: Final = 1.25
"""Times that one must be slower than the median of its peers."""
_SPREADS: Final = 2
"""And farther than any of these is from it, twice."""
_PAIR: Final = 2


def beside_peers(rates: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Of each port how many times it is slower than its peers, and what it must be at least.

    Args:
        rates: of each port; 0 for one that gave none, which is no peer.
    """
    found = {}
    for port, own in rates.items():
        others = [rate for other, rate in rates.items() if rate and other != port]
        middle = median(others)
        spread = max(max(rate / middle, middle / rate) for rate in others) ** _SPREADS
        found[port] = (middle / own if own else float("inf"), max(SLOWER, spread))
    return found


def slow_rails(found: Sequence[tuple[str, "Located"]]) -> list[str]:
    """A sentence for each port over which nodes are slower than over their others.

    Args:
        found: the runs over one port each of the same nodes, with the port.
    """
    if len(found) < FEWEST:
        return []
    # A node of which one port is down was measured over its others.
    over: dict[tuple[str, str], dict[str, float]] = {}
    for port, each in found:
        for way, rate in each.rates.items():
            over.setdefault(way, {})[port] = rate
    ways = sorted(way for way, rates in over.items() if len(rates) >= FEWEST)
    slow: dict[str, dict[tuple[str, str], float]] = {port: {} for port, _ in found}
    for way in ways:
        for port, (slower, least) in beside_peers(over[way]).items():
            if slower >= least:
                slow[port][way] = slower
    return [
        _sentence(port, slow[port], ways, min(len(over[way]) for way in slow[port]) - 1)
        for port, each in found if slow[port] and not each.bad
    ]  # fmt: skip


def _sentence(
    port: str, slow: Mapping[tuple[str, str], float], ways: Sequence[tuple[str, str]], peers: int
) -> str:
    """What all slow ways have in common."""
    ends = sorted(set.intersection(*map(set, slow)))
    if len(ways) > _PAIR and len(ends) == 1:
        place = f"card {port} of {ends[0]}"
    elif ends:
        place = f"card {port} of {' or of '.join(ends)}, or the cable between"
    else:
        place = f"port {port}: several cards, or their switch"
    told = " and ".join(f"{one} to {other}" for one, other in slow)
    told = told if len(slow) <= _PAIR else f"{len(slow)} of {len(ways)} ways"
    rate = times(1 / median(slow.values()))
    return f"{place}; {told} at {rate} the rate of {peers} other ports"
