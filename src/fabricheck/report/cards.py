"""Cards of nodes that have several, each beside its peers: one cell for a node and a port.

A card that sends slower than the others of its node is a card; where all of them are slow it is the
node, or what all share. Each direction has a verdict of its own: writes are sent by the client,
reads by the server. No reference is needed for that.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_low
from typing import Final

from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.metrics import Direction
from fabricheck.measures.registry import REGISTRY
from fabricheck.nodes.names import fold
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.units import times

FEWEST: Final = 3
"""Cards that a node must have, as of two nobody can tell which is slow."""
LEAST: Final = 2
"""Bandwidths in a direction, as one alone is noise now and then."""
SLOWER: Final = 1.25
"""Times that a card must be slower than the median of its peers, by half of them at least."""
_SPREADS: Final = 2
"""And farther than any of these is from it by any benchmark, twice."""
_PAIR: Final = 2
_MOST: Final = 16
"""Sets of nodes whose cards are shown."""
_READ: Final = re.compile("read|get")
_BOTH_WAYS: Final = re.compile("bidir|bibw|atomic")
_FAILED: Final = (Status.CRITICAL, Status.UNTRUSTED, Status.FAILED, Status.ABORTED)
Places = Mapping[tuple[str, str], list[tuple[float, float]]]
"""Of each port and node that sends: how many times slower than its peers by each benchmark, and how
far they lie from each other."""


@dataclass(frozen=True, slots=True)
class CardCell:
    """A port of a node.

    Attributes:
        status: the worst of the port's cases.
        slower: times that it sends slower than the median of its peers; ``None`` where nothing was
            measured beside another.
        accused: whether it is the card.
    """

    status: Status
    slower: float | None
    accused: bool

    @property
    def words(self) -> str:
        """How it stands beside its peers."""
        told = "not measured" if self.slower is None else times(1 / self.slower)
        return f"{told}: this card" if self.accused else told


@dataclass(frozen=True, slots=True)
class CardTable:
    """The ports of the nodes that measured together.

    Attributes:
        nodes: their names.
        ports: the names of their ports.
        cells: by node and port.
        accused: a sentence for each card that is unlike its peers.
    """

    nodes: tuple[str, ...]
    ports: tuple[str, ...]
    cells: Mapping[tuple[str, str], CardCell]
    accused: tuple[str, ...]

    @property
    def is_quiet(self) -> bool:
        """Whether no card is accused."""
        return not self.accused

    def worst(self, port: str) -> CardCell:
        """The port's cell on the node where it is the slowest."""
        return max((self.cells[node, port] for node in self.nodes), key=lambda c: c.slower or 0)


def worst_tables(tables: Sequence[CardTable]) -> tuple[Sequence[CardTable], str]:
    """Of hundreds, as on a large cluster, those that are shown, and what became of the others."""
    order = sorted(tables, key=lambda table: not table.accused)
    counts = Counter(str(cell.status) for each in order[_MOST:] for cell in each.cells.values())
    told = ", ".join(f"{number} {status}" for status, number in counts.items())
    named = sum(len(each.accused) for each in order[_MOST:])
    more = f"{len(order) - _MOST} more sets of nodes: cards {told}; {named} unlike their peers"
    return order[:_MOST], more if counts else ""


def card_tables(run: ReportedRun) -> list[CardTable]:
    """A table for each set of nodes of which several ports were measured one by one."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[ReportedCase]] = {}
    for case in run.cases:
        if case.port and case.nodes:
            where = case.system, case.partition, tuple(sorted(case.nodes))
            groups.setdefault(where, []).append(case)
    return [_table(nodes, cases) for (_, _, nodes), cases in sorted(groups.items())]


def _table(nodes: tuple[str, ...], cases: list[ReportedCase]) -> CardTable:
    ports = tuple(sorted({case.port for case in cases}))
    places = _places(cases)
    of_port = {port: [case for case in cases if case.port == port] for port in ports}
    failed = [port for port in ports if all(c.status in _FAILED for c in of_port[port])]
    cells: dict[tuple[str, str], CardCell] = {}
    accused = []
    for port in ports:
        status = Status.worst([case.status for case in of_port[port]])
        is_dead = port in failed and 2 * len(failed) < len(ports)
        slow = [node for node in nodes if _is_slow(places.get((port, node), []))]
        for node in nodes:
            found = [each for each, _ in places.get((port, node), ())]
            slower = median_low(found) if found else None
            cells[node, port] = CardCell(status, slower, is_dead or node in slow)
        if is_dead:
            # What lies in the fabric names node and port.
            told = ((*case.fabric_causes, *case.causes) for case in of_port[port])
            why = next((cause for causes in told for cause in causes), "")
            others = f"{len(ports) - 1} others of these nodes do not"
            accused.append(f"Card {port} of {fold(nodes)}: fails, {others}: {why}")
        elif slow:
            accused.append(_accusation(port, slow, nodes, places))
    return CardTable(nodes, ports, cells, tuple(accused))


def _is_slow(found: list[tuple[float, float]]) -> bool:
    least = max([SLOWER, *(spread for _, spread in found)])
    return len(found) >= LEAST and median_low(each for each, _ in found) >= least


def _accusation(port: str, slow: list[str], nodes: tuple[str, ...], places: Places) -> str:
    found = [slower for node in slow for slower, _ in places[port, node]]
    slower = median_low(found)
    how = "not at all, or" if math.isinf(slower) else times(slower)
    peers = len({each for each, _ in places}) - 1
    figures = f"{how} slower than its {peers} peers, by {len(found)} benchmarks"
    if len(slow) > 1:
        return f"Card {port} of {fold(nodes)} sends both ways {figures}"
    (other,) = (node for node in nodes if node not in slow)
    return f"Card {port} of {slow[0]} sends {figures}; or the one of {other} receives so"


def _places(cases: Iterable[ReportedCase]) -> Places:
    """How each port and node sends; without end slower where that failed."""
    values: dict[tuple[str, ...], dict[str, dict[int, float]]] = {}
    for case in cases:
        sender = _sender(case)
        by_size = _by_size(case)
        if sender and (by_size or case.status in _FAILED):
            key = case.environ, case.benchmark, case.transport, sender
            values.setdefault(key, {})[case.port] = by_size
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (*_, sender), by_port in values.items():
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
            found.setdefault((port, sender), []).append((slower, max(distances) ** _SPREADS))
    return found


def _sender(case: ReportedCase) -> str:
    """The node whose card sends the data; empty where both do, or no bandwidth is measured.

    Of programs on verbs and UCX rank 1 is the client, of those with MPI rank 0 sends.
    """
    name = case.benchmark
    if len(case.nodes) != _PAIR or not _is_bandwidth(case) or _BOTH_WAYS.search(name):
        return ""
    is_first = isinstance(REGISTRY[name], MpiBenchmark) != bool(_READ.search(name))
    return case.nodes[0 if is_first else 1]


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
