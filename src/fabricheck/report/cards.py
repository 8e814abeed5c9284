"""Cards of nodes that have several, each beside its peers: one cell for a node and a port.

A card that sends slower than the others of its node is a card; where all of them are slow it is the
node, or what all share. Each direction has a verdict of its own: writes are sent by the client,
reads by the server. No reference is needed for that. "Slow" is a card that sends at a part of the
rate of its peers; "fails" one that gave no figure.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Final, NamedTuple

from fabricheck.localise.rails import FEWEST, beside_peers
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.metrics import Direction
from fabricheck.measures.registry import REGISTRY
from fabricheck.nodes.names import fold
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.units import times

LEAST: Final = 2
"""Bandwidths in a direction, as one alone is noise now and then."""
_PAIR: Final = 2
_MOST: Final = 16
"""Sets of nodes whose cards are shown."""
_READ: Final = re.compile("read|get")
_BOTH_WAYS: Final = re.compile("bidir|bibw|atomic")
_FAILS: Final = "fails"
_BAD: Final = (Status.CRITICAL, Status.UNTRUSTED, Status.FAILED, Status.ABORTED)
Places = Mapping[tuple[str, str], list[tuple[float, float]]]
"""Of each port and node that sends: how many times slower than its peers by each benchmark, and how
many it must be."""


@dataclass(frozen=True, slots=True)
class CardCell:
    """A port of a node.

    Attributes:
        status: the worst of the port's cases.
        slower: times that it sends slower than the median of its peers; ``None`` where nothing was
            measured beside another.
        fault: what is wrong with this card, such as ``slow``; empty where it is like its peers.
    """

    status: Status
    slower: float | None
    fault: str

    @property
    def words(self) -> str:
        """How it stands beside its peers."""
        told = "not measured" if self.slower is None else times(1 / self.slower)
        return f"{told}: {self.fault}" if self.fault else told


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
    bad = [port for port in ports if all(c.status in _BAD for c in of_port[port])]
    cells: dict[tuple[str, str], CardCell] = {}
    accused = []
    for port in ports:
        of_it = of_port[port]
        told = _fault(of_it, nodes, places, is_bad=port in bad and 2 * len(bad) < len(ports))
        for node in nodes:
            found = [each for each, _ in places.get((port, node), ())]
            slower = median_low(found) if found else None
            fault = told.name if node in told.nodes else ""
            cells[node, port] = CardCell(Status.worst([c.status for c in of_it]), slower, fault)
        accused += [f"Card {port} of {fold(told.nodes)} {told.words}"] if told.name else []
    return CardTable(nodes, ports, cells, tuple(accused))


class _Fault(NamedTuple):
    """What is wrong with a port, on which nodes, and the sentence that its name begins."""

    name: str = ""
    nodes: Sequence[str] = ()
    words: str = ""


def _fault(
    cases: Sequence[ReportedCase], nodes: tuple[str, ...], places: Places, *, is_bad: bool
) -> _Fault:
    """What is wrong with the port of these cases, which are ``is_bad`` unlike most others."""
    port, least = cases[0].port, 1 if is_bad else LEAST
    slow = [node for node in nodes if _is_slow(places.get((port, node), []), least)]
    is_silent = is_bad and not any(each.value for case in cases for each in case.samples)
    if slow and not is_silent:
        return _accusation(port, slow, nodes, places)
    if not is_bad:
        return _Fault()
    name = _FAILS if is_silent else str(Status.worst([case.status for case in cases]))
    told = (
        f"{name}, other cards of these nodes do not" if is_silent else f"is {name}, others are not"
    )
    # What lies in the fabric names node and port.
    causes = (cause for case in cases for cause in (*case.fabric_causes, *case.causes))
    return _Fault(name, nodes, f"{told}: {next(causes, 'without a cause')}")


def _is_slow(found: list[tuple[float, float]], least: int) -> bool:
    limit = max((limit for _, limit in found), default=0.0)
    return len(found) >= least and median_low(each for each, _ in found) >= limit


def _accusation(port: str, slow: list[str], nodes: tuple[str, ...], places: Places) -> _Fault:
    found = [slower for node in slow for slower, _ in places[port, node]]
    slower = median_low(found)
    peers = f"its {len({each for each, _ in places}) - 1} peers"
    by = f"by {len(found)} benchmark{'' if len(found) == 1 else 's'}"
    if math.isinf(slower):
        name, told, receives = _FAILS, f"fails: sends nothing, unlike {peers}", "receives nothing"
    else:
        told = f"is slow: sends at {times(1 / slower)} the rate of {peers}"
        name, receives = "slow", "receives so"
    if len(slow) > 1:
        return _Fault(name, slow, f"{told} both ways, {by}")
    (other,) = (node for node in nodes if node not in slow)
    return _Fault(name, slow, f"{told}, {by}; or the one of {other} {receives}")


def _places(cases: Iterable[ReportedCase]) -> Places:
    """How each port and node sends; without end slower where that failed."""
    values: dict[tuple[str, ...], dict[str, dict[int, float]]] = {}
    for case in cases:
        sender = _sender(case)
        by_size = _by_size(case)
        if sender and (by_size or case.status in _BAD):
            key = case.environ, case.benchmark, case.transport, sender
            values.setdefault(key, {})[case.port] = by_size
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (*_, sender), by_port in values.items():
        sizes = [set(each) for each in by_port.values() if each]
        common = set.intersection(*sizes) if len(sizes) >= FEWEST else set()
        rates = {port: each.get(max(common), 0.0) for port, each in by_port.items() if common}
        for port, beside in beside_peers(rates).items():
            found.setdefault((port, sender), []).append(beside)
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
