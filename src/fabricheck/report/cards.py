"""Cards of nodes that have several, each beside its peers: one cell for a node and a port.

A card that is slower than the others of its nodes is a card; where all of them are slow it is the
node, or what all share. No reference is needed for that.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from fabricheck.measures.metrics import Direction
from fabricheck.measures.registry import REGISTRY
from fabricheck.nodes.names import fold
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.units import times

FEWEST: Final = 3
"""Cards that a node must have, as of two nobody can tell which is slow; and bandwidths of each, as
one alone is noise now and then."""
SLOWER: Final = 1.25
"""Times that a card must be slower than the median of its peers, by the median benchmark: one
that sends slowly reads as fast as ever."""
_SPREADS: Final = 2
"""And farther than any of these is from it by any benchmark, twice."""
_FAILED: Final = (Status.CRITICAL, Status.UNTRUSTED, Status.FAILED, Status.ABORTED)


@dataclass(frozen=True, slots=True)
class CardCell:
    """A port of a node.

    Attributes:
        status: the worst of its cases.
        slower: times that it is slower than the median of its peers; ``None`` where nothing was
            measured beside another.
        accused: whether it is the card.
    """

    status: Status
    slower: float | None
    accused: bool

    @property
    def words(self) -> str:
        """How it stands beside its peers."""
        told = "not measured" if self.slower is None else f"{times(1 / self.slower)} of its peers"
        return f"{told}: this card" if self.accused else told


@dataclass(frozen=True, slots=True)
class CardTable:
    """The ports of the nodes that measured together.

    Attributes:
        nodes: their names.
        cells: by port.
        accused: a sentence for each card that is unlike its peers.
    """

    nodes: tuple[str, ...]
    cells: Mapping[str, CardCell]
    accused: tuple[str, ...]


def card_tables(run: ReportedRun) -> list[CardTable]:
    """A table for each set of nodes of which several ports were measured one by one."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[ReportedCase]] = {}
    for case in run.cases:
        if case.port and case.nodes:
            where = case.system, case.partition, tuple(sorted(case.nodes))
            groups.setdefault(where, []).append(case)
    return [_table(nodes, cases) for (_, _, nodes), cases in sorted(groups.items())]


def _table(nodes: tuple[str, ...], cases: list[ReportedCase]) -> CardTable:
    ports = sorted({case.port for case in cases})
    ratios = _ratios(cases)
    of_port = {port: [case for case in cases if case.port == port] for port in ports}
    failed = [port for port in ports if all(c.status in _FAILED for c in of_port[port])]
    cells, accused = {}, []
    for port in ports:
        found = ratios.get(port, [])
        slower = median(each for each, _ in found) if found else None
        least = max([SLOWER, *(spread for _, spread in found)])
        is_slow = len(found) >= FEWEST and (slower or 0) >= least
        is_dead = port in failed and 2 * len(failed) < len(ports)
        status = Status.worst([case.status for case in of_port[port]])
        cells[port] = CardCell(status, slower, is_slow or is_dead)
        where = f"Card {port} of {fold(nodes)}"
        others = len(ports) - 1
        if is_dead:
            # What lies in the fabric names node and port.
            told = ((*case.fabric_causes, *case.causes) for case in of_port[port])
            why = next((cause for causes in told for cause in causes), "")
            accused.append(f"{where}: fails, {others} others of these nodes do not: {why}")
        elif is_slow and slower:
            accused.append(
                f"{where}: {'fails, or' if math.isinf(slower) else times(slower)} slower than the "
                f"median of {others} others of these nodes, by {len(found)} benchmarks"
            )
    return CardTable(nodes, cells, tuple(accused))


def _ratios(cases: Iterable[ReportedCase]) -> dict[str, list[tuple[float, float]]]:
    """For each port and benchmark how many times it is slower than its peers, without end where it
    failed, and how far they lie from each other.
    """
    values: dict[tuple[str, ...], dict[str, dict[int, float]]] = {}
    for case in cases:
        key = case.environ, case.benchmark, case.transport
        by_size = _by_size(case)
        if by_size or (case.status in _FAILED and _is_bandwidth(case)):
            values.setdefault(key, {})[case.port] = by_size
    found: dict[str, list[tuple[float, float]]] = {}
    for by_port in values.values():
        sizes = [set(each) for each in by_port.values() if each]
        common = set.intersection(*sizes) if len(sizes) >= FEWEST else set()
        for port in by_port if common else ():
            others = [
                each[max(common)] for other, each in by_port.items() if each and other != port
            ]
            middle = median(others)
            distances = [max(each / middle, middle / each) for each in others]
            own = by_port[port].get(max(common))
            slower = middle / own if own else math.inf
            found.setdefault(port, []).append((slower, max(distances) ** _SPREADS))
    return found


def _by_size(case: ReportedCase) -> dict[int, float]:
    """The bandwidth at each size; latencies wait for whoever has the cores."""
    return {
        each.size: each.value
        for each in case.samples
        if _is_bandwidth(case) and each.metric == REGISTRY[case.benchmark].metrics[0]
        if each.size and each.value
    }


def _is_bandwidth(case: ReportedCase) -> bool:
    metrics = REGISTRY[case.benchmark].metrics if case.benchmark in REGISTRY else ()
    return bool(metrics) and metrics[0].row.direction is Direction.HIGHER
